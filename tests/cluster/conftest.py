"""A real Slurm on this machine: munged, slurmctld and slurmd in a folder of their own, on free ports."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.study.toy import ROOT, free_port, wait_for

FOLDER = Path(__file__).parent
CONFIGURATION = """
ClusterName=hatchel
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# A job that is queued again waits until its first credential has expired.
AuthInfo=socket={folder}/munge.socket,cred_expire=10
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory={memory}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("HATCHEL_TEST_CLUSTER"):
        for item in items:
            if FOLDER in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs Ray and a Slurm of its own: make test-cluster"))


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its folder; SLURM_CONF leads every command to it."""
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(64))
    (folder / "munge.key").chmod(0o400)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    text = CONFIGURATION.format(
        host=socket.gethostname().partition(".")[0],
        user=pwd.getpwuid(os.getuid()).pw_name,
        ports=(free_port(), free_port()),
        folder=folder,
        memory=memory,
    )
    (folder / "slurm.conf").write_text(text)
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    os.environ["PYTHONPATH"] = str(ROOT)
    munge = [f"--{name}={folder}/munge.{name.removesuffix('-file')}" for name in ("key-file", "pid-file", "log-file")]
    munge += [f"--seed-file={folder}/munge.seed", f"--socket={folder}/munge.socket", "--foreground", "--force"]
    daemons = [[found("munged"), *munge], [found("slurmctld"), "-D"], [found("slurmd"), "-D"]]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in daemons:
            with (folder / f"{Path(command[0]).name}.out").open("w") as out:
                running.append(subprocess.Popen(command, stdout=out, stderr=out))
        wait_for(lambda: said("sinfo", "--noheader", "--format=%t").strip() == "idle")
        yield folder
    finally:
        said("scontrol", "shutdown")
        for process in running[::-1]:
            process.terminate()
            process.wait(60)
        del os.environ["SLURM_CONF"]


def found(program: str) -> str:
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert path, f"{program} is not installed; make test-cluster installs it"
    return path


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
