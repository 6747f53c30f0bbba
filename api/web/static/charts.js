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

// Ticks of times: the least seconds between two, their format, and what a tick has below it when the year, the month or
// the day changes.
const ticks = (seconds, format, year, day) => [seconds, format, year, day, day, null, null, null, 1];
const DATE = "\n{YYYY}-{MM}-{DD}";
const TICKS = [
  ticks(365 * 86400, "{YYYY}", null, null),
  ticks(28 * 86400, "{YYYY}-{MM}", null, null),
  ticks(86400, "{MM}-{DD}", "\n{YYYY}", null),
  ticks(60, "{HH}:{mm}", DATE, DATE),
  ticks(1, "{HH}:{mm}:{ss}", DATE, DATE),
];

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
          paths: "stepped" in figure.dataset ? uPlot.paths.stepped({ align: 1 }) : undefined,
          scale: series.length === 2 && index === 1 ? "second" : "y",
        })),
      ],
      axes,
    },
    [numbers(figure.dataset.times), ...series.map((each) => numbers(each.value))],
    place,
  );
};

// Saves a chart as an image, with its title and the background of the page.
const save = (figure) => {
  const drawn = figure.querySelector("canvas");
  const title = figure.dataset.label;
  const image = document.createElement("canvas");
  const margin = 40 * devicePixelRatio;
  image.width = drawn.width;
  image.height = drawn.height + margin;
  const context = image.getContext("2d");
  context.fillStyle = resolved("--back");
  context.fillRect(0, 0, image.width, image.height);
  context.font = `${16 * devicePixelRatio}px sans-serif`;
  const names = [...figure.querySelectorAll(".series")].map((each) => each.dataset.name);
  let left = margin / 4;
  // The names of several series have the colours of their lines.
  (names.length > 1 ? names : [title]).forEach((text, index) => {
    context.fillStyle = resolved(names.length > 1 ? LINES[index % LINES.length] : "--text");
    context.fillText(text, left, margin * 0.65);
    left += context.measureText(text).width + margin / 2;
  });
  context.drawImage(drawn, 0, margin);
  image.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${title}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
};
addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.matches("button.png")) save(target.closest("figure"));
});

const drawAll = () => document.querySelectorAll("figure.chart").forEach(draw);
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
let due;
addEventListener("resize", () => { clearTimeout(due); due = setTimeout(drawAll, 150); });
