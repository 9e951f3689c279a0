"use strict";
// Shows only the cases of one outcome, or those that hold a text. Without it every case is on the page.
for (const bar of document.querySelectorAll(".filters")) {
  const rows = [...document.querySelectorAll(".cases tbody tr")];
  const buttons = [...bar.querySelectorAll("button")];
  const search = bar.querySelector("input");
  const status = bar.querySelector("[role=status]");
  const rest = document.querySelector("#cases > details.rest");
  const openAtFirst = rest !== null && rest.open;
  let outcome = "all";
  const apply = () => {
    const wanted = search.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const fits = outcome === "all" || row.dataset.outcome === outcome;
      row.hidden = !(fits && row.textContent.toLowerCase().includes(wanted));
      count += row.hidden ? 0 : 1;
    }
    const filtered = wanted !== "" || outcome !== "all";
    status.textContent = filtered ? `${count} of ${rows.length} shown` : "";
    if (rest !== null) rest.open = filtered || openAtFirst;
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      outcome = button.dataset.outcome;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      apply();
    });
  }
  search.addEventListener("input", apply);
  bar.hidden = false;
}
