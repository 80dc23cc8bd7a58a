"""The machine's network: what the cluster adds, what was there before, and putting it back."""

from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.files import read_json, write_json
from devcluster.firewall import MARK, is_empty, parse, removal
from devcluster.node import BRIDGE
from devcluster.settings import NODE_ADDRESS, SERVICE_RANGE
from devcluster.shell import capture, say, succeeds

# What kubelet, kube-proxy and the bridge plugin set for the whole machine.
KERNEL_SETTINGS = (
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet",
    "vm/overcommit_memory",
    "kernel/panic",
    "kernel/panic_on_oops",
)
CNI_RESULTS = Path("/var/lib/cni/results")
BEFORE = "network-before.json"
FAMILIES = {"ip": "iptables", "ip6": "ip6tables"}


def prepare(state: Path) -> None:
    """Note what the machine has now, then give it the node's address.

    Raises DevclusterError when another cluster has that address.
    """
    if has_address():
        raise DevclusterError(
            f"the address {NODE_ADDRESS} is in use on this machine: another development cluster is "
            "up (SPECDEPLOY_STATE names its folder), or one was removed by hand "
            f"(then: ip addr del {NODE_ADDRESS}/32 dev lo)"
        )
    before = {
        "firewall": {program: capture([f"{program}-save"]) for program in FAMILIES.values()},
        "kernel": {name: value for name in KERNEL_SETTINGS if (value := _read(name)) is not None},
    }
    write_json(state / BEFORE, before)
    capture(["ip", "addr", "add", f"{NODE_ADDRESS}/32", "dev", "lo"])
    for chain in ("OUTPUT", "FORWARD"):
        # A Service's address that kube-proxy does not know (yet) would leave by the default route.
        rule = ["-d", SERVICE_RANGE, "-m", "comment", "--comment", MARK, "-j", "REJECT"]
        capture(["iptables", "--wait", "-A", chain, *rule])


def is_prepared(state: Path) -> bool:
    """Whether `prepare` has changed the machine for this cluster; if not, all there is belongs to others."""
    return (state / BEFORE).exists()


def restore(state: Path) -> None:
    """Remove what the cluster added since `prepare` (nothing when that never ran)."""
    before = read_json(state / BEFORE, None)
    if before is None:
        return
    _remove_interfaces()
    if has_address():
        capture(["ip", "addr", "del", f"{NODE_ADDRESS}/32", "dev", "lo"])
    for family, program in FAMILIES.items():
        _restore_firewall(family, program, before["firewall"][program])
    for name, value in before["kernel"].items():
        if _read(name) != value:
            Path("/proc/sys", name).write_text(value)
    _forget_results()


def has_address() -> bool:
    """Whether some interface has the node's address."""
    return bool(capture(["ip", "-o", "addr", "show", "to", f"{NODE_ADDRESS}/32"]).strip())


def leftovers() -> list[str]:
    """What of the cluster is on the machine's network, in words."""
    left = [f"address {NODE_ADDRESS}"] if has_address() else []
    left += [f"interface {BRIDGE}"] if succeeds(["ip", "link", "show", BRIDGE]) else []
    return left


def _remove_interfaces() -> None:
    if not succeeds(["ip", "link", "show", BRIDGE]):
        return
    for line in capture(["ip", "-o", "link", "show", "master", BRIDGE]).splitlines():
        name = line.split(": ")[1].split("@")[0]
        # A veth goes by itself when the namespace of its other end does.
        succeeds(["ip", "link", "delete", name])
    capture(["ip", "link", "delete", BRIDGE])


def _restore_firewall(family: str, program: str, before: str) -> None:
    script = removal(before, capture([f"{program}-save"]))
    if script:
        capture([f"{program}-restore", "--noflush"], stdin=script)
    if "nf_tables" not in capture([program, "--version"]):
        return
    for name, table in parse(capture([f"{program}-save"])).items():
        # iptables on nf_tables leaves the tables it made behind, empty.
        if (
            name not in parse(before)
            and is_empty(table)
            and not succeeds(["nft", "delete", "table", family, name])
        ):
            say(f"the empty {program} table {name} could not be removed")


def _forget_results() -> None:
    """What the CNI library noted of pods that were not taken down; loopback's notes carry no name."""
    for result in CNI_RESULTS.glob(f"{MARK}-*-eth0"):
        container = result.name.removeprefix(f"{MARK}-").removesuffix("-eth0")
        (CNI_RESULTS / f"cni-loopback-{container}-lo").unlink(missing_ok=True)
        result.unlink()


def _read(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except FileNotFoundError:
        return None
