"""Where each tensor will lie: arithmetic on values, nothing else."""
