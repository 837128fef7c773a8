"""How confident a text sounds to readers: the local reader and its cues, language models and embeddings as readers."""
