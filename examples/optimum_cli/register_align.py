"""`optimum-cli export onnx-aligned`: `optimum-cli export onnx`, then aligned in place.

optimum-cli loads every file of its namespace folder `optimum/commands/register/`. Copy this file
into that folder of your environment, or make such a folder anywhere and put its root on PYTHONPATH:

    mkdir -p plugins/optimum/commands/register
    cp register_align.py plugins/optimum/commands/register/
    PYTHONPATH=plugins optimum-cli export onnx-aligned --model ./bert --alignment 65536 out/
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from optimum.commands.base import CommandInfo
from optimum.commands.export.base import ExportCommand
from optimum.commands.export.onnx import ONNXExportCommand


class AlignedExportCommand(ONNXExportCommand):
    """Takes the options of `export onnx`, and four of its own."""

    COMMAND = CommandInfo(name="onnx-aligned", help="Export PyTorch to ONNX with aligned weights")

    @staticmethod
    def parse_args(parser: ArgumentParser) -> None:
        """Add the options to the parser of the command."""
        ONNXExportCommand.parse_args(parser)
        group = parser.add_argument_group("Alignment, sizes in bytes")
        group.add_argument("--alignment", type=int, default=4096)
        group.add_argument("--align-threshold", type=int, default=0)
        group.add_argument("--size-threshold", type=int, default=1024)
        group.add_argument("--verify", action="store_true")

    def run(self) -> None:
        """Export, align, and say what was done."""
        # optimum-cli loads this file at every start: what is slow to import waits until now.
        from onnx_align_pass import AlignError, LayoutPolicy, StoragePolicy
        from onnx_align_pass.hooks.optimum import align_directory

        try:
            storage = StoragePolicy(size_threshold_bytes=self.args.size_threshold)
            layout = LayoutPolicy(
                alignment=self.args.alignment, align_threshold=self.args.align_threshold
            )
            super().run()
            report = align_directory(
                self.args.output,
                storage=storage,
                layout=layout,
                verify=self.args.verify,
                overwrite=True,
            )
        except AlignError as error:
            sys.exit(f"error: {error}")
        for model in report.models:
            sys.stdout.write(f"aligned {model.destination} ({model.data_bytes:,} bytes of data)\n")


REGISTER_COMMANDS = [(AlignedExportCommand, ExportCommand)]
