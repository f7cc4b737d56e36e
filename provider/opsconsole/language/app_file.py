"""The model of cdktf.json, in its own module so that pydantic is loaded only when needed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from opsconsole.document_models import what_is_wrong


def _command(value: str) -> str:
    if not value.strip():
        raise ValueError("should be a command")
    return value


class AppFile(BaseModel):
    """The members of a cdktf.json that this program reads; the others are for the cdktf command."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)
    app: Annotated[str, AfterValidator(_command)]
    output: str = "cdktf.out"
    context: dict[str, Any] = Field({})


def app_file(document: Any) -> AppFile:
    """Return the content of a cdktf.json.

    Raises:
        ValueError: The document does not fit the model. The message names every place.
    """
    try:
        return AppFile.model_validate(document)
    except ValidationError as problem:
        raise ValueError(what_is_wrong(problem)) from None
