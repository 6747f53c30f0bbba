// Draws the charts of a page with uPlot, from the numbers that the page has as text.

const probe = document.createElement("span");
document.body.append(probe);
const resolved = (name) => {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
};

// Times are in UTC, as everywhere on these pages: a day, or the time of a day.
const DAY_S = 86400;
const iso = (seconds) => new Date(seconds * 1000).toISOString();
const dayOf = (seconds) => iso(seconds).slice(0, 10);
const clockOf = (seconds) => iso(seconds).slice(11, 19).replace(/:00$/, "");
const momentOf = (seconds) => (seconds % DAY_S ? `${dayOf(seconds)} ${clockOf(seconds)}` : dayOf(seconds));

const LINES = ["--link", "--merkle", "--believed", "--gap"];

const draw = (figure) => {
  const place = figure.querySelector(".plot");
  place.replaceChildren();
  const series = [...figure.querySelectorAll(".series")];
  const numbers = (text) => text.split(",").map((each) => (each === "" || each === "None" ? null : Number(each)));
  const axis = { stroke: resolved("--soft"), grid: { stroke: resolved("--line"), width: 1 }, ticks: { stroke: resolved("--line") } };
  const shown = Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
  const times = { ...axis, space: 80, values: (_, splits, __, ___, step) => splits.map(step < DAY_S ? clockOf : dayOf) };
  const axes = [times, { ...axis, size: 64, values: (_, values) => values.map((value) => shown.format(value)) }];
  if (series.length === 2) axes.push({ ...axes[1], side: 1, scale: "second", grid: { show: false } });
  new uPlot(
    {
      width: place.clientWidth,
      height: place.clientHeight - 32,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      series: [
        { label: "Time", value: (_, seconds) => (seconds === null ? "" : momentOf(seconds)) },
        ...series.map((each, index) => ({
          label: each.dataset.name,
          stroke: resolved(LINES[index % LINES.length]),
          width: 2,
          scale: series.length === 2 && index === 1 ? "second" : "y",
        })),
      ],
      axes,
    },
    [numbers(figure.dataset.times), ...series.map((each) => numbers(each.value))],
    place,
  );
};

const drawAll = () => document.querySelectorAll("figure.chart").forEach(draw);
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
let due;
addEventListener("resize", () => { clearTimeout(due); due = setTimeout(drawAll, 150); });
