// What pages do with JavaScript beyond htmx: copying, keyboard shortcuts, suggestions. Every page works without it.

const copy = async (button) => {
  const text = button.dataset.copy ?? `curl -s '${new URL(button.dataset.curl, location.href).href}'`;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
};

const help = document.getElementById("help");
const search = document.getElementById("search");
const suggestions = document.getElementById("suggestions");

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.classList.contains("copy")) copy(button);
  if (button?.classList.contains("help")) help.showModal();
  if (!event.target.closest(".search")) suggestions.replaceChildren();
});

const follow = (selector) => document.querySelector(selector)?.click();

const SHORTCUTS = {
  "/": () => { search.focus(); search.select(); },
  "h": () => follow("a.home"),
  "n": () => follow("a[rel=next]"),
  "p": () => follow("a[rel=prev]"),
  "c": () => follow("main .copy"),
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") suggestions.replaceChildren();
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.closest(".search")) {
    const stops = [search, ...suggestions.querySelectorAll("a")];
    const step = event.key === "ArrowDown" ? 1 : stops.length - 1;
    stops[(stops.indexOf(document.activeElement) + step) % stops.length].focus();
    event.preventDefault();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || help.open || event.target.closest("input, select, textarea")) return;
  const shortcut = SHORTCUTS[event.key];
  if (shortcut) {
    event.preventDefault();
    shortcut();
  }
});
