"""Code shared by commands: options, messages, files, configuration, store. It has no commands of its own."""
