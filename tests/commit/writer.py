"""A process that writes one model again and again, until it is ended: `writer.py FOLDER SEED`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from onnx_align_pass import (
    AlignError,
    DestinationExistsError,
    ExternalDataError,
    LayoutPolicy,
    SourceChangedError,
    align_file,
    load,
    save,
)

LOST_THE_RACE = (SourceChangedError, DestinationExistsError, ExternalDataError)
"""How the slower of two runs may end. Nothing else may be seen."""


def main(root: Path, seed: int) -> None:
    """Write, and tell by a line what each run ended with."""
    chance, model = random.Random(seed), root / "folder" / "model.onnx"
    while True:
        layout = LayoutPolicy(alignment=1 << chance.randrange(4, 13))
        try:
            match chance.randrange(3):
                case 0:
                    align_file(model, layout=layout, keep_old_data=True, durable=False)
                case 1:
                    source = root / chance.choice("ab") / "model.onnx"
                    align_file(
                        source,
                        model,
                        layout=layout,
                        overwrite=True,
                        keep_old_data=True,
                        durable=False,
                    )
                case _:
                    save(load(model), model, layout=layout, keep_old_data=True, durable=False)
            said = "written"
        except LOST_THE_RACE as error:
            said = type(error).__name__
        except AlignError as error:
            said = f"WRONG {type(error).__name__}: {error}"
        sys.stdout.write(said.replace("\n", " ") + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
