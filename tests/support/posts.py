"""A server on loopback that keeps what is posted to it."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from loopback import Handler, serve_handler


@dataclass(frozen=True)
class Post:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Posts:
    """The server's address, what it answers, and what came in so far."""

    address: str
    status: int = 201
    kept: list[Post] = field(default_factory=list)


@contextlib.contextmanager
def serve_posts() -> Iterator[Posts]:
    """Keep every POST until the block ends."""

    class Keeper(Handler):
        def do_POST(self) -> None:
            posts.kept.append(Post(self.path, dict(self.headers), self.body()))
            self.answer(posts.status)

    with serve_handler(Keeper) as address:
        posts = Posts(address)
        yield posts
