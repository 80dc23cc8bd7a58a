"""`python3 -m devcluster VERB`: the command line."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from devcluster import build, cluster, images, report, reset
from devcluster.baseimage import BASE_IMAGE
from devcluster.errors import DevclusterError
from devcluster.settings import DEFAULT_GPUS, DEFAULT_PORT_BASE, Settings, changed, folders, saved


def parser() -> argparse.ArgumentParser:
    """All verbs and their options; an option left out keeps what the running cluster has."""
    top = argparse.ArgumentParser(
        prog="python3 -m devcluster", description="A real Kubernetes on one machine."
    )
    verbs = top.add_subparsers(dest="verb", required=True)
    for verb, text in {
        "down": "remove the cluster and every trace of it",
        "status": "print each part, the node and the pods",
        "reset": "delete all objects that users put in",
        "build": "build the Kubernetes binaries only",
        "kubeconfig": "print the path of the kubeconfig",
        "path": "print the folder of kubectl, helm and the servers",
        "env": "print shell lines that set KUBECONFIG and PATH",
    }.items():
        verbs.add_parser(verb, help=text, description=text)
    _add_up(verbs.add_parser("up", help="bring the cluster up (nothing to do when it is)"))
    _add_image(verbs.add_parser("image", help="build an image from a Dockerfile and import it"))
    return top


def _add_up(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--gpus", type=int, help=f"amd.com/gpu on the node (default {DEFAULT_GPUS})")
    verb.add_argument("--label", action="append", metavar="KEY=VALUE", help="node label, repeatable")
    verb.add_argument("--port-base", type=int, help=f"first of nine ports (default {DEFAULT_PORT_BASE})")
    verb.add_argument(
        "--control-plane-only",
        action="store_true",
        default=None,
        help="etcd, API server and controller manager; no node, no root needed",
    )


def _add_image(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--tag", required=True, help="such as localhost/specdeploy:dev")
    verb.add_argument("--file", type=Path, default=Path("Dockerfile"))
    verb.add_argument("--context", type=Path, default=Path())
    verb.add_argument("--target", help="stage of the Dockerfile")
    verb.add_argument("--build-arg", action="append", default=[], metavar="KEY=VALUE")
    verb.add_argument(
        "--base", default=BASE_IMAGE, help="name in FROM that the Debian base image stands in for"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code."""
    options = parser().parse_args(arguments)
    # A terminated run unwinds like an interrupted one, so that children do not outlive it half started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        code = _run(options)
        sys.stdout.flush()
    except DevclusterError as error:
        print(f"devcluster: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader, `head` for one, has seen enough; nothing more may be written when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("devcluster: interrupted; `up` starts afresh, `down` removes what there is", file=sys.stderr)
        return 130
    return code


def _run(options: argparse.Namespace) -> int:
    state, cache = folders(os.environ)
    previous = saved(state, cache)
    if options.verb == "up":
        cluster.up(_wanted(options, previous or Settings(state=state, cache=cache)), previous)
    elif options.verb == "build":
        print(build.build(cache))
    elif options.verb == "path":
        print(build.folder(cache))
    elif previous is None:
        return _without_cluster(options.verb, state)
    else:
        return _with_cluster(options, previous)
    return 0


def _wanted(options: argparse.Namespace, base: Settings) -> Settings:
    labels = None
    if options.label is not None:
        if any("=" not in label for label in options.label):
            raise DevclusterError("--label wants KEY=VALUE")
        labels = {**base.labels, **dict(label.split("=", 1) for label in options.label)}
    return changed(
        base,
        gpus=options.gpus,
        port_base=options.port_base,
        labels=labels,
        control_plane_only=options.control_plane_only,
    )


def _without_cluster(verb: str, state: Path) -> int:
    if verb == "down":
        print(f"nothing to do: no cluster in {state}", file=sys.stderr)
        return 0
    raise DevclusterError(f"no cluster in {state}: bring it up with `python3 -m devcluster up`")


def _with_cluster(options: argparse.Namespace, settings: Settings) -> int:
    match options.verb:
        case "down":
            cluster.down(settings)
        case "status":
            return 0 if report.status(settings) else 1
        case "reset":
            reset.reset(settings)
        case "kubeconfig":
            print(settings.kubeconfig)
        case "env":
            print(
                f'export KUBECONFIG={settings.kubeconfig}\nexport PATH={build.folder(settings.cache)}:"$PATH"'
            )
        case "image":
            images.build_and_import(
                settings,
                images.Build(
                    tag=options.tag,
                    file=options.file,
                    context=options.context,
                    target=options.target,
                    arguments=tuple(options.build_arg),
                    base=options.base,
                ),
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
