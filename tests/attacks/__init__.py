"""What a stranger may try: each attack on every call that reads a model, and on every command."""
