"""Any other CI system: it runs the example's shell script in a fresh checkout."""

from dataclasses import dataclass

from pipeline_jobs import PIPELINES, Machine, Ran, run_shell
from pipeline_repository import Repository

SCRIPT = PIPELINES / "shell" / "pipeline.sh"


@dataclass
class Shell:
    """Runs the script's jobs on a repository.

    Attributes:
        settings: The job's variables.
        empty: Whether the script has to make its virtual environment; else it finds one.
    """

    machine: Machine
    repository: Repository
    settings: dict[str, str]
    empty: bool

    def do(self, job: str) -> Ran:
        """Run a job: a review is a plan."""
        return self.run("plan" if job == "review" else job)

    def apply(self, planned: Ran) -> Ran | None:
        """Apply what was planned, unless no checksum was printed."""
        _, told, checksum = planned.text.partition("Checksum of this plan: ")
        return self.run("apply", checksum.split()[0]) if told else None

    def run(self, *words: str) -> Ran:
        """Run the script in the checkout, which it finds as its last run left it."""
        checkout = self.machine.folder / "work"
        if not checkout.exists():
            self.repository.clone(checkout)
            script = checkout / SCRIPT.name
            script.write_text(self.machine.read(SCRIPT))
            script.chmod(0o755)
            if not self.empty:
                (checkout / ".venv").symlink_to(self.machine.installed(checkout))
        environment = self.machine.environment() | self.settings
        code, text = run_shell(f"./{SCRIPT.name} {' '.join(words)}", checkout, environment)
        return Ran(code, text, checkout)
