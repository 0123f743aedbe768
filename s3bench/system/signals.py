"""The signals that ask a command to end."""

import signal


def ending_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM and SIGHUP, the last one only where it is not ignored, as it is under nohup(1)."""
    is_kept_running = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM) if is_kept_running else (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
