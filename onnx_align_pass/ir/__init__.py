"""Between an ir.Model and files: where its bytes are, how it is saved, what it reads from after."""
