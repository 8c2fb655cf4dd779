"""A real Slurm on this machine: munged, slurmctld and slurmd in a folder of their own, on free ports."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.study.toy import ROOT, free_port, wait_for

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


@contextmanager
def own_slurm(folder: Path) -> Iterator[None]:
    """While it runs, SLURM_CONF leads every command to it."""
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
        yield
    finally:
        said("scontrol", "shutdown")
        for process in running[::-1]:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:  # it waits for a job's end that nobody tells it any more
                process.kill()
                process.wait()
        del os.environ["SLURM_CONF"]


def found(program: str) -> str:
    path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert path, f"{program} is not installed; make test-cluster installs it"
    return path


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
