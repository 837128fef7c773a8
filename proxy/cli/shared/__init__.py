"""What the commands share: options, messages, files, the configuration, the store. No command stands here."""
