"""The commit: killed, failed, filled and interrupted at every step."""
