"""Request handlers that several API families share, a module per topic. They import no family."""
