"""instructor in JSON mode."""

import json

import instructor
from openai import OpenAI
from pydantic import BaseModel


class City(BaseModel):
    """What is to be parsed."""

    name: str
    population: int


client = instructor.from_openai(OpenAI(max_retries=0), mode=instructor.Mode.JSON)
ask = [{"role": "user", "content": "What is the capital of Australia?"}]
city = client.chat.completions.create(model="m", messages=ask, response_model=City, max_retries=0)
print(json.dumps({"typed": city.model_dump()}))
