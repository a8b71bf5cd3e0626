"""Print the licences of all packages that an installed s2gnn needs, as a table in Markdown."""

import re
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

_CLASSIFIER = "License :: "


def needed(name: str) -> dict[str, Distribution]:
    """The installed packages that `name` needs without extras, directly or not, by name."""
    found: dict[str, Distribution] = {}
    waiting = [name]
    while waiting:
        one = distribution(waiting.pop())
        for requirement in map(Requirement, one.requires or []):
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and requirement.name not in found:
                found[requirement.name] = distribution(requirement.name)
                waiting.append(requirement.name)
    return {one.name: one for one in found.values()}


def licence(package: Distribution) -> str:
    """The licence that a package states: as an expression, as classifiers, or in the first line of the field."""
    stated = package.metadata
    classifiers = [one.rpartition(" :: ")[2] for one in stated.get_all("Classifier", []) if one.startswith(_CLASSIFIER)]
    text = stated.get("License-Expression") or ", ".join(classifiers) or stated.get("License") or "not stated"
    return re.split(r"[\r\n]", text.strip())[0]


if __name__ == "__main__":
    print("| package | version | licence |\n|---|---|---|")
    for name, package in sorted(needed("s2gnn").items(), key=lambda item: item[0].lower()):
        print(f"| {name} | {package.version} | {licence(package)} |")
