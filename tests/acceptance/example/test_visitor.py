import pytest

from example_project.demo.visitor import read_forms

PAGE = """
<form action="/first" method="post">
  <input type="hidden" name="csrf" value="t&amp;k">
  <input name="name"><input type="checkbox" name="active" checked>
  <input type="checkbox" name="spare"><input name="off" disabled value="1">
  <textarea name="text">
 a &lt;b&gt;</textarea>
  <select name="kind"><option value="x">X<option value="y" selected>Y</select>
  <button name="choice" value="pay">Pay</button><input type="submit" name="_save" value="Save">
</form>
<form></form>
"""


def test_a_form_sends_what_a_browser_would() -> None:
    form, empty = read_forms(PAGE)
    assert (form.action, form.method) == ("/first", "POST")
    assert form.filled({"name": "Tea"}, ("choice", "pay")) == [
        ("csrf", "t&k"),
        ("active", "on"),
        ("text", " a <b>"),
        ("kind", "y"),
        ("name", "Tea"),
        ("choice", "pay"),
    ]
    assert (empty.method, empty.fields) == ("GET", [])


@pytest.mark.parametrize(("values", "button"), [({"price": "1"}, None), ({}, ("choice", "steal"))])
def test_nothing_is_sent_that_the_form_does_not_have(
    values: dict[str, str], button: tuple[str, str] | None
) -> None:
    form = read_forms(PAGE)[0]
    with pytest.raises(LookupError):
        form.filled(values, button)
