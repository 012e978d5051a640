"""Faults applied to an answer: first to what it says, then to how it is sent."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from payments_pages.sandbox.faults import Fault, Plan
from payments_pages.sandbox.payloads import Payload
from payments_pages.sandbox.responses import Answer, reason_phrase
from payments_pages.sandbox.timers import Timers

__all__ = ["hold", "send_badly", "shape"]


def shape(plan: Plan, work: Callable[[], Answer]) -> Answer:
    """Return the answer to send; `work` is called only by faults that let the work be done."""
    fault = plan.shape
    if fault is None:
        return work()
    if fault.kind in _INSTEAD:
        return _INSTEAD[fault.kind](fault.options)
    return _AFTERWARDS[fault.kind](fault.options, plan.step, work())


def hold(plan: Plan, timers: Timers) -> None:
    """Wait as the plan says; raise `ConnectionAbortedError` if the sandbox stops meanwhile."""
    for fault in plan.waits:
        if fault.kind == "run":
            fault.options["function"]()
        elif fault.barrier is not None:
            _wait_at(fault.barrier, fault.options["seconds"])
        elif not timers.wait(fault.options["seconds"]):
            raise ConnectionAbortedError


def _wait_at(barrier: threading.Barrier, seconds: float) -> None:
    try:
        barrier.wait(seconds)
    except threading.BrokenBarrierError:
        # Too few came in time, or the faults were cleared: from now on nothing waits here.
        return


# What is said


def _status(options: Mapping[str, Any]) -> Answer:
    body = options["body"]
    if body is None:
        body = {"status": False, "message": reason_phrase(options["status"])}
    return Answer(status=options["status"], payload=body, headers=options["headers"])


def _html(options: Mapping[str, Any]) -> Answer:
    return Answer(
        status=options["status"],
        raw=options["text"].encode(),
        content_type="text/html; charset=utf-8",
        headers=options["headers"],
    )


def _raw(options: Mapping[str, Any]) -> Answer:
    body = options["body"]
    return Answer(
        status=options["status"],
        raw=body.encode() if isinstance(body, str) else bytes(body),
        content_type=options["content_type"],
        headers=options["headers"],
    )


def _empty(options: Mapping[str, Any]) -> Answer:
    return Answer(status=options.get("status", 200), raw=b"")


_INSTEAD: Mapping[str, Callable[[Mapping[str, Any]], Answer]] = {
    "status": _status,
    "html": _html,
    "raw": _raw,
    "empty": _empty,
    "hang": _empty,
    "drop": _empty,
}


def _truncated(options: Mapping[str, Any], _step: int, answer: Answer) -> Answer:
    body, length = answer.body, options["length"]
    return replace(answer, raw=body[: len(body) // 2 if length is None else length])


def _redirect(options: Mapping[str, Any], _step: int, answer: Answer) -> Answer:
    headers = {**answer.headers, "Location": options["location"]}
    return replace(answer, status=options["status"], headers=headers)


def _wrong_reference(options: Mapping[str, Any], _step: int, answer: Answer) -> Answer:
    return _merged(answer, {"reference": options["other"], "status": "success"})


def _patch(options: Mapping[str, Any], _step: int, answer: Answer) -> Answer:
    removals = dict.fromkeys(options["remove"], ...)
    return _merged(answer, {**options["data"], **removals}, options["envelope"])


def _status_sequence(options: Mapping[str, Any], step: int, answer: Answer) -> Answer:
    statuses = options["statuses"]
    return _merged(answer, {"status": statuses[min(step, len(statuses) - 1)]})


def _unchanged(_options: Mapping[str, Any], _step: int, answer: Answer) -> Answer:
    return answer


_AFTERWARDS: Mapping[str, Callable[[Mapping[str, Any], int, Answer], Answer]] = {
    "truncated": _truncated,
    "redirect": _redirect,
    "wrong_reference": _wrong_reference,
    "patch": _patch,
    "status_sequence": _status_sequence,
    "drip": _unchanged,
    "answer_lost": _unchanged,
}


def _merged(
    answer: Answer, values: Mapping[str, Any], envelope: Mapping[str, Any] | None = None
) -> Answer:
    """Merge values into `data` of an answer that has any, and into its envelope."""
    payload = dict(answer.payload or {})
    data = payload.get("data")
    if isinstance(data, dict):
        payload["data"] = _replaced(data, values)
    elif isinstance(data, list):
        payload["data"] = [_replaced(item, values) for item in data]
    return replace(answer, payload=_replaced(payload, envelope or {}))


def _replaced(target: Payload, values: Mapping[str, Any]) -> Payload:
    merged = {**target, **values}
    return {name: value for name, value in merged.items() if value is not ...}


# How it is sent


def send_badly(
    fault: Fault | None, answer: Answer, connection: socket.socket, timers: Timers
) -> None:
    """Send the answer by hand if the fault is about sending, then end the connection.

    Raise `ConnectionAbortedError` once that is done. Return, with nothing sent, for every
    other fault.
    """
    if fault is None:
        return
    if fault.kind == "hang":
        timers.wait(fault.options["seconds"])
    elif fault.kind == "drop":
        _drop(fault.options, connection)
    elif fault.kind == "drip":
        _drip(fault.options, answer, connection, timers)
    elif fault.kind != "answer_lost":
        return
    _close(connection)


def _drop(options: Mapping[str, Any], connection: socket.socket) -> None:
    if options["after"] == "headers":
        connection.sendall(_head(Answer(), length=512))
    if options["reset"]:
        # A linger time of zero turns the close into a reset, unless a shutdown comes before.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        raise ConnectionAbortedError


def _drip(
    options: Mapping[str, Any], answer: Answer, connection: socket.socket, timers: Timers
) -> None:
    body = answer.body
    head = _head(answer, len(body))
    at_once, slowly = (head, body) if options["part"] == "body" else (b"", head + body)
    connection.sendall(at_once)
    for byte in slowly:
        if not timers.wait(options["seconds"]):
            return
        connection.sendall(bytes((byte,)))


def _head(answer: Answer, length: int) -> bytes:
    lines = [f"HTTP/1.1 {answer.status_line}"]
    lines += [f"{name}: {value}" for name, value in answer.header_list(length)]
    return ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode("latin-1")


def _close(connection: socket.socket) -> NoReturn:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError
