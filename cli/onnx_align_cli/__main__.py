"""`python -m onnx_align_cli`."""

import sys

from onnx_align_cli import main

if __name__ == "__main__":
    sys.exit(main())
