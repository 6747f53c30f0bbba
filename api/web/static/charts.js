// Draws the charts of a page with uPlot, from the numbers that the page has as text.

const probe = document.createElement("span");
document.body.append(probe);
const resolved = (name) => {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
};

const LINES = ["--link", "--merkle", "--believed", "--gap"];

const draw = (figure) => {
  const place = figure.querySelector(".plot");
  place.replaceChildren();
  const series = [...figure.querySelectorAll(".series")];
  const numbers = (text) => text.split(",").map((each) => (each === "" || each === "None" ? null : Number(each)));
  const axis = { stroke: resolved("--soft"), grid: { stroke: resolved("--line"), width: 1 }, ticks: { stroke: resolved("--line") } };
  const shown = Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
  const axes = [axis, { ...axis, size: 64, values: (_, values) => values.map((value) => shown.format(value)) }];
  if (series.length === 2) axes.push({ ...axes[1], side: 1, scale: "second", grid: { show: false } });
  new uPlot(
    {
      width: place.clientWidth,
      height: place.clientHeight - 32,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      series: [
        {},
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
