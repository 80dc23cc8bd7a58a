"""What `status` prints: each part with its pid and health, then the node and the pods."""

from devcluster import health
from devcluster.errors import DevclusterError
from devcluster.kubectl import Kubectl
from devcluster.processes import Processes
from devcluster.settings import Settings


def parts(settings: Settings) -> list[tuple[str, int, str]]:
    """(name, pid, `healthy`, `unhealthy` or `dead`) of each process, in start order."""
    processes, probes = Processes(settings.state), health.probes(settings)
    dead = processes.dead()
    rows = []
    for process in processes.all():
        state = "dead" if process.name in dead else "healthy" if probes[process.name]() else "unhealthy"
        rows.append((process.name, process.pid, state))
    return rows


def status(settings: Settings) -> bool:
    """Print everything; whether all of it is well."""
    rows = parts(settings)
    for name, pid, state in rows:
        print(f"{name:<26}{pid:>8}  {state}")
    print(f"\nkubeconfig  {settings.kubeconfig}\nserver      {settings.server}\nlogs        {settings.logs}")
    kubectl = Kubectl(settings)
    try:
        if not settings.control_plane_only:
            print("\n" + kubectl.run("get", "nodes", "-o", NODE_COLUMNS, seconds=10))
            print(kubectl.run("get", "pods", "-A", "-o", "wide", seconds=10) or "no pods")
    except DevclusterError as error:
        print(f"\n{error}")
        return False
    return bool(rows) and all(state == "healthy" for _, _, state in rows)


NODE_COLUMNS = (
    "custom-columns=NODE:.metadata.name,VERSION:.status.nodeInfo.kubeletVersion,"
    "READY:.status.conditions[?(@.type=='Ready')].status,"
    "GPUS:.status.allocatable.amd\\.com/gpu,MEMORY:.status.allocatable.memory"
)
