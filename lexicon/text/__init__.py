"""How text is taken apart: sentences, words, numbers, negation, languages. No hedge and no HTTP in here."""
