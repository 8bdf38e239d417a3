import signal
import subprocess
import sys

PROGRAM = """\
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "dra_fleet.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
{before}
sys.argv = ["dra-fleet", "--version"]
from dra_fleet.cli.entry import run
run()
"""
"""Presses Ctrl-C at the moment at which the commands are imported."""


COMMANDS = """\
import signal
{before}
from dra_fleet.cli import entry, main
main.run = lambda: print(signal.getsignal(signal.SIGINT))
entry.run()
"""
ANSWERED = "signal.signal(signal.SIGINT, signal.default_int_handler)"
"""The program handles Ctrl-C even if the tests run in the background, which ignores it."""


def started(before: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program.format(before=before)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_ctrl_c_before_the_commands_are_there_ends_without_a_traceback() -> None:
    done = started(ANSWERED)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_ctrl_c_stays_ignored() -> None:
    done = started("signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("dra-fleet ")


def test_the_commands_get_python_s_own_answer_to_ctrl_c() -> None:
    done = started(ANSWERED, COMMANDS)
    assert "default_int_handler" in done.stdout
