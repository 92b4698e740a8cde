"""The page in a browser: it loads alone, its controls work, its numbers are the run's.

No kernel: the run is a stored one, captures/reference/stored-format-1. Of its 200 KB
over a path with losses the first packet sent again is #28, and there the model, whose
losses are others, parts from the kernel.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from testbed.report.numbers import amount, count

pytestmark = pytest.mark.browser

STORED = Path(__file__).parents[2] / "captures/reference/stored-format-1"
RUN = "20261201T040657Z-cd8b"
PROGRAMS = ("/usr/bin/chromium", "/usr/bin/chromedriver")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage")
PHONE, DESK = (390, 844), (1200, 900)
Browser = webdriver.Chrome


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the stored run: report writes its page beside it."""
    copy = tmp_path_factory.mktemp("stored") / RUN
    shutil.copytree(STORED / RUN, copy)
    return copy


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    """Return what report --json says of the run; the page is written then, too."""
    return report_json(folder)


def report_json(folder: Path) -> dict[str, Any]:
    argv = (sys.executable, "-m", "testbed", "report", str(folder), "--json")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr  # a tenth of the bytes: no claim holds
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Chromium, which writes down its console and all it asks the network for."""
    program, driver = PROGRAMS
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


@pytest.fixture
def page(browser: Browser, folder: Path, told: dict[str, Any]) -> Browser:
    """Load the page as on a desk, in light."""
    assert told["format"] == 1
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what came before is not this page's
    seen_as(browser, DESK)
    browser.get((folder / "report.html").as_uri())
    return browser


def seen_as(browser: Browser, size: tuple[int, int], scheme: str = "light") -> None:
    width, height = size
    screen = {"width": width, "height": height, "deviceScaleFactor": 1}
    mobile = {"mobile": size == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**screen, **mobile})
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def live(page: Browser) -> WebElement:
    return page.find_element(By.CSS_SELECTOR, "figure.live")


def window(page: Browser) -> tuple[float, float]:
    """Return the time that the live picture shows, in ms."""
    found = live(page)
    return float(found.get_attribute("data-from")), float(
        found.get_attribute("data-to")
    )


def press(page: Browser, name: str) -> None:
    live(page).find_element(By.CSS_SELECTOR, f"button[data-do={name}]").click()


def said(page: Browser) -> str:
    return str(live(page).find_element(By.TAG_NAME, "output").text).replace("\xa0", " ")


def test_another_process_writes_the_same_bytes(
    folder: Path, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told["runs"]
    first = (folder / "report.html").read_bytes()
    monkeypatch.setenv("PYTHONHASHSEED", "7")

    again = report_json(folder)

    assert again == told
    assert (folder / "report.html").read_bytes() == first


def test_it_loads_without_an_error_and_asks_the_network_for_nothing(
    page: Browser,
) -> None:
    events = (
        json.loads(each["message"])["message"] for each in page.get_log("performance")
    )
    asked = [
        each["params"]["request"]["url"]
        for each in events
        if each["method"] == "Network.requestWillBeSent"
    ]

    assert page.get_log("browser") == []
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert [url for url in asked if url.startswith("file")] == [page.current_url]


def test_a_script_that_is_not_the_pages_does_not_run(
    browser: Browser, folder: Path, told: dict[str, Any]
) -> None:
    assert told["runs"]
    changed = folder / "changed.html"
    text = (folder / "report.html").read_text()
    changed.write_text(
        text.replace("</body>", "<script>document.title=1</script></body>")
    )

    browser.get(changed.as_uri())

    assert browser.title != "1"
    assert "Content Security Policy" in str(browser.get_log("browser"))


def test_zoom_pan_and_whole_move_the_window(page: Browser) -> None:
    begin, end = window(page)

    press(page, "in")
    half = window(page)
    press(page, "later")
    later = window(page)
    press(page, "whole")

    assert half[1] - half[0] == pytest.approx((end - begin) / 2)
    assert later[0] > half[0]
    assert window(page) == (begin, end)


def test_the_arrow_keys_step_from_packet_to_packet(page: Browser) -> None:
    plot = live(page).find_element(By.CLASS_NAME, "plot")
    begin, end = window(page)

    plot.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, "+")

    assert said(page).startswith("before, kernel: packet #1 of 72; at ")
    assert (
        "seq 2 896 to 5 792; length 2 896 bytes, 2 segments; cut by autosize"
        in said(page)
    )
    assert window(page) == (begin, pytest.approx((begin + end) / 2))


def test_the_pointer_gets_a_packets_seq_length_time_and_cause(page: Browser) -> None:
    press(page, "next")
    mark = live(page).find_element(By.CLASS_NAME, "mark")

    ActionChains(page).move_to_element(mark).perform()
    tip = live(page).find_element(By.CLASS_NAME, "tip").text.replace("\xa0", " ")

    assert "packet #" in tip
    assert " ms\nseq " in tip
    assert "length 2 896 bytes" in tip
    assert "cut by autosize" in tip


def test_dragging_zooms_and_a_double_click_shows_the_whole(page: Browser) -> None:
    begin, end = window(page)
    over = live(page).find_element(By.CLASS_NAME, "u-over")
    drag = ActionChains(page).move_to_element_with_offset(over, -200, 0)

    drag.click_and_hold().move_by_offset(150, 0).release().perform()
    dragged = window(page)
    ActionChains(page).double_click(over).perform()

    assert dragged[1] - dragged[0] < (end - begin) / 2
    assert window(page) == (begin, end)


def test_another_variant_can_be_chosen(page: Browser) -> None:
    Select(live(page).find_element(By.TAG_NAME, "select")).select_by_visible_text(
        "after"
    )
    press(page, "next")

    assert said(page).startswith("after, kernel: packet #0 of 72")


def test_a_moment_is_shown_in_the_picture(page: Browser) -> None:
    (button,) = page.find_elements(
        By.CSS_SELECTOR, "[data-variant=after][aria-label*='sent again']"
    )

    button.click()

    shown = said(page)
    begin, end = window(page)
    assert shown.startswith("after, kernel: packet #")
    assert "sent again" in shown
    at = float(shown.split("at ")[1].split(" ms")[0])
    assert begin <= at <= end


def test_hiding_the_model_changes_the_picture(page: Browser) -> None:
    canvas = live(page).find_element(By.TAG_NAME, "canvas")
    pixels = "return arguments[0].toDataURL()"
    with_model = page.execute_script(pixels, canvas)

    live(page).find_element(By.CSS_SELECTOR, "input.model").click()

    assert page.execute_script(pixels, canvas) != with_model


def row_of(page: Browser, caption: str, variant: str) -> list[str]:
    """Return the cells of the first row of a variant in the table of that caption."""
    row = f"//table[caption='{caption}']//tr[th='{variant}'][1]"
    return [each.text for each in page.find_elements(By.XPATH, f"{row}/td")]


def told_of(metric: dict[str, Any]) -> list[str]:
    unit = metric["unit"]
    figures = [
        amount(metric[name], unit) for name in ("mean", "p50", "p90", "p99", "max")
    ]
    return [count(metric["n"]), *figures]


def test_the_numbers_on_the_page_are_the_runs(
    page: Browser, told: dict[str, Any]
) -> None:
    text = page.find_element(By.TAG_NAME, "main").text
    cells = {
        each.text for each in page.find_elements(By.CSS_SELECTOR, ".claims td.number")
    }

    for claim in told["claims"]:
        if claim["metric"].startswith(("Ip", "Tcp")):
            for voice in ("claimed", "measured", "model"):
                shown = {
                    f"{int(value):,}".replace(",", " ")
                    for value in claim[voice].values()
                }
                assert shown <= cells
    for run in told["runs"]:
        assert run["kernel"]["build_id"] in text
        shown = row_of(page, "segments per packet", run["variant"])
        assert shown == told_of(run["metrics"]["tso_segs"])
        shown = row_of(page, "tso_size", run["variant"])
        assert shown == told_of(run["metrics"]["tso_size"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_page_is_no_wider_than_the_screen(
    page: Browser, size: tuple[int, int], scheme: str
) -> None:
    seen_as(page, size, scheme)
    page.refresh()

    width = page.execute_script("return document.documentElement.scrollWidth")
    plot = live(page).find_element(By.CLASS_NAME, "uplot")

    assert width <= size[0]
    assert plot.size["width"] <= size[0]
    assert page.get_log("browser") == []


CONTRASTS = """
const light = (text) => {
  const [r, g, b] = text.match(/[\\d.]+/g).map((each) => {
    const c = each / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const page = light(getComputedStyle(document.body).backgroundColor);
return [...document.querySelectorAll("main *")]
  .filter((each) => !each.closest("svg, .plot") && each.checkVisibility()
    && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((each) => {
    const style = getComputedStyle(each);
    const ink = light(style.color);
    const own = style.backgroundColor;
    const under = own === "rgba(0, 0, 0, 0)" ? page : light(own);
    const [low, high] = [Math.min(ink, under), Math.max(ink, under)];
    return [(high + 0.05) / (low + 0.05), each.outerHTML];
  })
  .filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_as_wcag_aa_asks(page: Browser, scheme: str) -> None:
    seen_as(page, DESK, scheme)

    assert page.execute_script(CONTRASTS) == []


def test_every_control_has_a_name_and_can_be_reached_by_keyboard(page: Browser) -> None:
    controls = page.find_elements(
        By.CSS_SELECTOR, "button, select, input, .plot, summary"
    )

    assert controls
    for each in controls:
        assert each.accessible_name, each.get_attribute("outerHTML")
        assert each.get_property("tabIndex") == 0


def test_without_script_and_on_paper_the_plain_picture_is_there(page: Browser) -> None:
    plain = page.find_element(By.CSS_SELECTOR, "figure.plain")
    assert not plain.is_displayed()

    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert plain.is_displayed()
    assert not live(page).is_displayed()

    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.refresh()
        assert page.find_element(By.CSS_SELECTOR, "figure.plain").is_displayed()
        assert not live(page).is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
