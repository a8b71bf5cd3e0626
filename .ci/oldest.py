"""Print the oldest versions that pyproject.toml admits, as constraints of pip.

torch is the one of constraints.txt: an older build for processors alone may be out of reach.
"""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for requirement in map(Requirement, [*project["dependencies"], *extras["pyg"], *extras["search"], *extras["dev"]]):
        oldest = next(one.version for one in requirement.specifier if one.operator == ">=")
        if requirement.name != "torch":
            print(f"{requirement.name}=={oldest}")
    print(*(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")))
