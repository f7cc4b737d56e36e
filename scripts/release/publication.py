"""What a registry and a mirror ask for beside the archives: manifest, sums, index files."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import zipfile
from pathlib import Path

from scripts.release.archive import NAME

from opsconsole import __version__
from opsconsole.address import DEFAULT_HOSTS, SOURCE

STEM = f"{NAME}_{__version__}"
MANIFEST = f"{STEM}_manifest.json"
SUMS = f"{STEM}_SHA256SUMS"


def write_manifest(dist: Path) -> None:
    """Write the registry's manifest: the provider speaks plugin protocol 6."""
    manifest = {"version": 1, "metadata": {"protocol_versions": ["6.0"]}}
    (dist / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def write_sums(dist: Path) -> None:
    """Write the SHA-256 sums of the archives of all platforms and of the manifest."""
    files = [*sorted(dist.glob(f"{STEM}_*.zip")), dist / MANIFEST]
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (dist / SUMS).write_text("".join(lines))


def write_mirror(dist: Path) -> None:
    """Write `mirror/`: a filesystem mirror, and a network mirror once a web server has it.

    It is what `terraform providers mirror` writes, for the default hosts of Terraform and OpenTofu.
    """
    archives = sorted(dist.glob(f"{STEM}_*.zip"))
    listed = {
        path.stem.removeprefix(f"{STEM}_"): {"hashes": [package_hash(path)], "url": path.name}
        for path in archives
    }
    for host in DEFAULT_HOSTS:
        folder = dist / "mirror" / host / SOURCE
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path in archives:
            shutil.copy(path, folder / path.name)
        (folder / "index.json").write_text(json.dumps({"versions": {__version__: {}}}, indent=2))
        (folder / f"{__version__}.json").write_text(json.dumps({"archives": listed}, indent=2))


def package_hash(archive: Path) -> str:
    """Return the hash that Terraform records of a package's content: scheme `h1`."""
    with zipfile.ZipFile(archive) as opened:
        total = hashlib.sha256()
        for name in sorted(opened.namelist()):
            total.update(f"{hashlib.sha256(opened.read(name)).hexdigest()}  {name}\n".encode())
    return f"h1:{base64.b64encode(total.digest()).decode()}"
