"""Reads how confident a text sounds: the local reader and its cues, language models and embeddings as readers."""
