"""Extensions of this server for Wormhole networks: signers, verdicts, gaps."""
