"""The provider of one process: what its calls share, the calls about one resource, and what becomes
of an exception.

One function a call: decode, one call into the lifecycle, encode. What is planned or done is decided
there, not here. The calls about the whole provider are in `servicer`.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from opsconsole.definition import Attribute
from opsconsole.diagnostics import Diagnostic, error, has_error
from opsconsole.journal_files import unfolded_journals, unresolved_calls
from opsconsole.lifecycle.interface import (
    CreateRequest,
    DeleteRequest,
    Outcome,
    PlanChange,
    PlanCreation,
    PlanRemoval,
    PlanRequest,
    ReadRequest,
    UpdateRequest,
)
from opsconsole.lifecycle.translate import diagnose
from opsconsole.redaction import Redaction
from opsconsole.resources import DATA_SOURCES, PROVIDER, RESOURCES
from opsconsole.terraform.batcher import Batcher
from opsconsole.terraform.codec import ObjectCodec, attribute_path, rendered
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.terraform.transport import Method
from opsconsole.terraform_binary import engine_of
from opsconsole.v1.settings import ENVIRONMENT
from opsconsole.values import Attributes, unknown_names

if TYPE_CHECKING:
    from opsconsole.lifecycle.base import BaseLifecycle
    from opsconsole.lifecycle.lifecycle import Lifecycle

Connect = Callable[[Attributes], Awaitable["Lifecycle"]]
"""Makes a lifecycle of the provider's settings; raises OpsconsoleError where they are wrong."""

SECRET_SETTINGS: Final = tuple(item.name for item in PROVIDER if item.sensitive)

SERVICE: Final = pb.DESCRIPTOR.services_by_name["Provider"]
"""The service of plugin protocol 6."""


class NotServedError(Exception):
    """A call cannot be served; its diagnostics say why."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*(diagnostic.summary for diagnostic in diagnostics))
        self.diagnostics = diagnostics


class Configured:
    """The provider of one process, configured or not yet."""

    def __init__(self, connect: Connect, redaction: Redaction) -> None:
        self.redaction = redaction
        for name in SECRET_SETTINGS:
            redaction.learn(os.environ.get(ENVIRONMENT[name]))
        self._connect = connect
        self._lifecycle: Lifecycle | None = None
        self._why_not = error("The provider is not configured")
        self._batchers: dict[str, Batcher] = {}
        self._stopped = False
        self._claims: set[tuple[str, str, str]] = set()
        self._codecs: dict[str, ObjectCodec] = {}

    def learn_secrets(self, config: Attributes) -> None:
        """Hide the secret settings of `config` from now on."""
        for name in SECRET_SETTINGS:
            value = config.get(name)
            if isinstance(value, str):
                self.redaction.learn(value)

    async def configure(self, config: Attributes) -> list[Diagnostic]:
        """Take the provider's settings; those that are not known yet put it off.

        Returns what else to report to the user.

        Raises:
            OpsconsoleError: A setting is missing or wrong.
        """
        await self.close()
        self.learn_secrets(config)
        diagnostics = _left_behind(pathlib.Path.cwd())
        if has_error(diagnostics):
            return diagnostics
        unknown = unknown_names(config)
        if unknown:
            self._why_not = _not_known(unknown)
            return diagnostics
        lifecycle = await self._connect(config)
        self._lifecycle = lifecycle
        self._claims.clear()
        self._batchers = {name: Batcher(steps) for name, steps in lifecycle.resources.items()}
        if self._stopped:
            lifecycle.stop()
        return diagnostics

    def stop(self) -> None:
        """Begin no further request; those in flight are finished."""
        self._stopped = True
        if self._lifecycle is not None:
            self._lifecycle.stop()

    def claim(self, doing: str, type_name: str, values: Attributes) -> None:
        """Note that an object is read or changed, which Terraform asks for once in one process.

        A second time means that two addresses hold it. Dropping one of them would delete the
        object of the other.

        Args:
            doing: `read`, `change` or `delete`.
            values: The object in state.

        Raises:
            NotServedError: It was claimed before.
        """
        # Not needed for the schema, which Terraform asks for first, in several processes a run.
        from opsconsole.lifecycle.answers import is_sentinel

        object_id = values.get("id")
        if not isinstance(object_id, str) or is_sentinel(object_id):
            return
        claim = (doing, type_name, object_id)
        if claim in self._claims:
            raise NotServedError(_held_twice(type_name, object_id))
        self._claims.add(claim)

    def lifecycle(self) -> Lifecycle:
        """Return the lifecycle.

        Raises:
            NotServedError: The provider is not configured, or not with known settings.
        """
        if self._lifecycle is None:
            raise NotServedError(self._why_not)
        return self._lifecycle

    def steps(self, type_name: str) -> BaseLifecycle:
        """Return the steps of a resource.

        Raises:
            NotServedError: There is no such resource, or no configuration.
        """
        self.attributes("resource", type_name)  # refuses a resource that does not exist
        return self.lifecycle().resources[type_name]

    async def create(self, type_name: str, request: CreateRequest) -> Outcome:
        """Create one resource: with others, where the console creates many in one call.

        Raises:
            NotServedError: There is no such resource, or no configuration.
        """
        self.steps(type_name)
        return await self._batchers[type_name].create(request)

    async def read(self, type_name: str, request: ReadRequest) -> Outcome:
        """Read one resource.

        Raises:
            NotServedError: There is no such resource, or no configuration.
        """
        [outcome] = await self.steps(type_name).read([request])
        return outcome

    def attributes(self, kind: str, type_name: str = "") -> Mapping[str, Attribute]:
        """Return the attributes of a `resource`, a `data source` or the `provider`.

        Raises:
            NotServedError: There is none of that name.
        """
        if kind == "provider":
            return PROVIDER.by_name
        definitions = {"resource": RESOURCES, "data source": DATA_SOURCES}[kind]
        if type_name not in definitions:
            raise NotServedError(error(f"This provider has no {kind} {type_name}"))
        return definitions[type_name].by_name

    def codec(self, kind: str, type_name: str = "") -> ObjectCodec:
        """Return the codec for `attributes` of the same arguments.

        Raises:
            NotServedError: There is none of that name.
        """
        key = f"{kind} {type_name}"
        if key not in self._codecs:
            self._codecs[key] = ObjectCodec(self.attributes(kind, type_name).values())
        return self._codecs[key]

    def rendered(
        self, diagnostics: Iterable[Diagnostic], kind: str, type_name: str = ""
    ) -> list[pb.Diagnostic]:
        """Return diagnostics as messages without secrets; `kind` and name as for `attributes`."""
        return rendered(diagnostics, self.attributes(kind, type_name), self.redaction)

    async def close(self) -> None:
        """Let go of the lifecycle, if there is one."""
        lifecycle, self._lifecycle = self._lifecycle, None
        if lifecycle is not None:
            await lifecycle.close()


class ResourceCalls:
    """Answers the calls about one resource, for one process."""

    def __init__(self, provider: Configured) -> None:
        self._provider = provider

    async def upgrade_resource_state(
        self, request: pb.UpgradeResourceState.Request
    ) -> pb.UpgradeResourceState.Response:
        """Read a stored state as this version has it; needs no configuration."""
        codec = self._provider.codec("resource", request.type_name)
        if not request.raw_state.json:
            raise NotServedError(
                error(
                    "The state was written by Terraform 0.11 or older",
                    "No version of this provider wrote such a state.",
                )
            )
        state = codec.decode_state(request.raw_state.json)
        return pb.UpgradeResourceState.Response(upgraded_state=codec.encode(state))

    async def read_resource(self, request: pb.ReadResource.Request) -> pb.ReadResource.Response:
        """Read what the console holds."""
        name = request.type_name
        codec = self._provider.codec("resource", name)
        prior = codec.decode(request.current_state)
        if prior is None:
            return pb.ReadResource.Response(new_state=request.current_state)
        self._provider.claim("read", name, prior)
        outcome = await self._provider.read(name, ReadRequest(prior, request.private))
        return pb.ReadResource.Response(
            new_state=codec.encode(outcome.state),
            private=outcome.private,
            diagnostics=self._provider.rendered(
                (*outcome.diagnostics, *not_begun(outcome)), "resource", name
            ),
        )

    async def plan_resource_change(
        self, request: pb.PlanResourceChange.Request
    ) -> pb.PlanResourceChange.Response:
        """Say what would be done.

        Terraform's own proposal is only looked at for being null, which asks for removal.
        """
        name = request.type_name
        steps = self._provider.steps(name)
        codec = self._provider.codec("resource", name)
        prior, private = codec.decode(request.prior_state), request.prior_private
        config = codec.decode(request.config) or {}
        if codec.decode(request.proposed_new_state) is None:
            asked: PlanRequest = PlanRemoval(prior or {}, private)
        elif prior is None:
            asked = PlanCreation(config, private)
        else:
            asked = PlanChange(prior, config, private)
        [outcome] = await steps.plan([asked])
        attributes = self._provider.attributes("resource", name)
        return pb.PlanResourceChange.Response(
            planned_state=codec.encode(outcome.planned),
            requires_replace=[attribute_path((item,), attributes) for item in outcome.replace],
            planned_private=outcome.private,
            diagnostics=self._provider.rendered(outcome.diagnostics, "resource", name),
        )

    async def apply_resource_change(
        self, request: pb.ApplyResourceChange.Request
    ) -> pb.ApplyResourceChange.Response:
        """Carry out what was planned."""
        name = request.type_name
        codec = self._provider.codec("resource", name)
        prior, planned = codec.decode(request.prior_state), codec.decode(request.planned_state)
        config, private = codec.decode(request.config) or {}, request.planned_private
        if prior is None:
            creation = CreateRequest(config, planned or {}, private)
            outcome = await self._provider.create(name, creation)
        elif planned is None:
            self._provider.claim("delete", name, prior)
            outcome = await self._provider.steps(name).delete(DeleteRequest(prior, private))
        else:
            self._provider.claim("change", name, prior)
            change = UpdateRequest(prior, config, planned, private)
            outcome = await self._provider.steps(name).update(change)
        return pb.ApplyResourceChange.Response(
            new_state=codec.encode(outcome.state),
            private=outcome.private,
            diagnostics=self._provider.rendered(
                (*outcome.diagnostics, *not_begun(outcome)), "resource", name
            ),
        )

    async def import_resource_state(
        self, request: pb.ImportResourceState.Request
    ) -> pb.ImportResourceState.Response:
        """Read the resource that an import id names."""
        name = request.type_name
        outcome = await self._provider.steps(name).import_state(request.id)
        response = pb.ImportResourceState.Response(
            diagnostics=self._provider.rendered(outcome.diagnostics, "resource", name)
        )
        if outcome.state is not None:
            response.imported_resources.add(
                type_name=name,
                state=self._provider.codec("resource", name).encode(outcome.state),
                private=outcome.private,
            )
        return response

    async def move_resource_state(
        self, request: pb.MoveResourceState.Request
    ) -> pb.MoveResourceState.Response:
        """Refuse to make one resource of another: no two of this provider are alike."""
        raise NotServedError(
            error(
                f"A {request.source_type_name} cannot become a {request.target_type_name}",
                f"Remove the `moved` block, and `{engine_of().command} import` the object under "
                "its new address.",
            )
        )


def guarded(provider: Configured, name: str, method: Method) -> Method:
    """Return `method`, the call `name` of the service, so that no exception leaves it.

    An exception becomes a diagnostic, and state stays as it was.
    """
    response_type: Any = GetMessageClass(SERVICE.methods_by_name[name].output_type)

    async def answer(request: Any) -> Message:
        try:
            return await method(request)
        except NotServedError as refused:
            found = refused.diagnostics
        except Exception as problem:
            found = diagnose(problem, _doing(name, request))
        diagnostics = provider.rendered(found, "provider")
        response: Message = response_type(diagnostics=diagnostics)
        _keep_state(request, response)
        return response

    return answer


def _doing(name: str, request: Any) -> str:
    if name == "ConfigureProvider":
        return "configure the provider"
    type_name = getattr(request, "type_name", "")
    return f"answer Terraform's {name}" + (f" for {type_name}" if type_name else "")


def _keep_state(request: Any, response: Any) -> None:
    """Answer with the state that was sent: without one Terraform would take it for gone."""
    if isinstance(request, pb.ApplyResourceChange.Request):
        response.new_state.CopyFrom(request.prior_state)
        response.private = request.planned_private
    elif isinstance(request, pb.ReadResource.Request):
        response.new_state.CopyFrom(request.current_state)
        response.private = request.private


def not_begun(outcome: Outcome) -> tuple[Diagnostic, ...]:
    """Report that the console was asked nothing, because the run was told to stop before."""
    if outcome.begun:
        return ()
    return (error("Not begun: the run was told to stop", "Nothing was sent for it; run again."),)


def _held_twice(type_name: str, object_id: str) -> Diagnostic:
    title, command = RESOURCES[type_name].title, engine_of().command
    return error(
        f"Two addresses in state hold the {title} {object_id}",
        "One object has one address: removing either would delete what the other manages. Find "
        f"both with `{command} state list` and `{command} state show`, and forget one of them with "
        f"`{command} state rm ADDRESS`; the console is not touched by that.",
        ("id",),
    )


def _not_known(names: list[str]) -> Diagnostic:
    listed = ", ".join(names)
    return error(
        f"The provider's {listed} will be known only after apply",
        "Nothing can be read or planned before the provider's settings are known. Apply what they "
        "depend on first, with -target, or set them from variables or the environment.",
    )


def _left_behind(directory: pathlib.Path) -> list[Diagnostic]:
    """Return why nothing may be planned in `directory`, where Terraform runs.

    A journal holds changes that the console has and the state lacks: planning on that state would
    make them again. A call of unknown outcome may have created something that no state knows.
    """
    found = []
    journals = unfolded_journals(directory)
    if journals:
        found.append(
            error(
                "An interrupted run of opsconsole left changes that are not in the state yet",
                f"They are recorded in {_listed(journals)}. Run `opsconsole state fold` in this "
                "folder, then Terraform again.",
            )
        )
    calls = unresolved_calls(directory)
    if calls:
        found.append(
            error(
                "An interrupted run of opsconsole may have created what is not in the state",
                f"{_listed(calls)} names it, and Terraform would create it a second time. Run "
                "`opsconsole plan` in this folder, which asks the console and notes in the state "
                "what cannot be found out; then Terraform again.",
            )
        )
    return found


def _listed(files: Iterable[pathlib.Path]) -> str:
    return ", ".join(map(str, files))
