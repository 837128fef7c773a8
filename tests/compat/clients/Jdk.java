// The JDK's own HttpClient with its defaults: it offers HTTP/2 by an upgrade of HTTP/1.1.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Jdk {
    public static void main(String[] arguments) throws Exception {
        var body = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"What is the capital of Australia?\"}]}";
        var request = HttpRequest.newBuilder(URI.create(System.getenv("OPENAI_BASE_URL") + "/chat/completions"))
            .header("content-type", "application/json").header("authorization", "Bearer sk-test")
            .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        var text = answer.body().replaceAll("(?s).*?\"content\": ?\"([^\"]*)\".*", "$1");
        System.out.println("{\"status\": " + answer.statusCode() + ", \"chat\": \"" + text + "\"}");
    }
}
