"""Background work ends with the sandbox."""

import time

from payments_pages.sandbox.timers import Timers


def test_work_is_done_after_its_time() -> None:
    timers, done = Timers(), []
    timers.after(0.05, lambda: done.append(time.monotonic()))
    started = time.monotonic()
    timers.join(timeout=5)
    assert len(done) == 1
    assert done[0] - started >= 0.04


def test_a_wait_is_slept_through() -> None:
    assert Timers().wait(0.01) is True


def test_a_stop_ends_waits_and_drops_the_work() -> None:
    timers, done = Timers(), []
    timers.after(60, lambda: done.append("planned before"))
    started = time.monotonic()
    timers.stop()
    timers.after(0, lambda: done.append("planned after"))
    assert timers.wait(60) is False
    assert time.monotonic() - started < 5
    assert done == []
