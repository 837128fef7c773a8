"""Whether an answer is right: rules, a language model as judge, and verdicts on a share of the answers while serving."""
