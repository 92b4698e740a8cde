"""`python -m testbed.lab FOLDER`: run the variant that FOLDER/job.json describes."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from testbed.errors import StoreError, TestbedError
from testbed.lab.session import Conditions, run_variant
from testbed.spec.codec import decode
from testbed.spec.experiment import Variant
from testbed.spec.names import PATIENT_VARIABLE, RUN_VARIABLE


def main() -> int:
    """Run the job; on an error say it in one line of the console and in error.txt."""
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    conditions = decode(Conditions, job["conditions"])
    try:
        run_variant(
            decode(Variant, job["variant"]),
            replace(
                conditions,
                run_id=os.environ.get(RUN_VARIABLE, ""),
                patient=PATIENT_VARIABLE in os.environ,
            ),
            folder,
            say=lambda phase: print(f"lab: {phase}", flush=True),  # noqa: T201
        )
    except (TestbedError, OSError) as error:
        told = error if isinstance(error, TestbedError) else StoreError(str(error))
        print(told, flush=True)  # noqa: T201  # error.txt may not fit on a full disk
        (folder / "error.txt").write_text(f"{told}\n")
        return told.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
