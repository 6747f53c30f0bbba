// "Verify in this browser": loads the bytes and the proof of a message, and shows each check.

const box = document.getElementById("verify");
const button = box?.querySelector("button");

const line = (mark, text) => {
  const item = document.createElement("li");
  item.className = mark === "passed" ? "good" : mark === "failed" ? "bad" : "soft";
  const word = document.createElement("strong");
  word.textContent = `${mark}: `;
  item.append(word, text);
  return item;
};

const load = async (url) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: status ${response.status}`);
  return response;
};

const RESULTS = {
  valid: (claim, index) => `Valid: milestone ${index} ${claim} this ${box.dataset.kind}.`,
  unknown: (claim, index) => `All steps passed: milestone ${index} ${claim} this ${box.dataset.kind}, if the keys above are the coordinator's.`,
  invalid: () => "Not valid: see the step that failed.",
};

const verify = async () => {
  const list = box.querySelector("ol"), result = box.querySelector(".result");
  list.replaceChildren();
  result.textContent = "Loading …";
  button.disabled = true;
  try {
    const [{ check, parseKeys }, raw, proof] = await Promise.all([
      import("./proof.js"),
      load(box.dataset.raw).then((response) => response.arrayBuffer()),
      load(box.dataset.proof).then((response) => response.json()),
    ]);
    const keys = parseKeys(box.querySelector("[name=keys]").value);
    const threshold = Number(box.querySelector("[name=threshold]").value);
    const { checks, claim, index } = check({ id: box.dataset.id, raw: new Uint8Array(raw), proof, keys, threshold });
    for (const { passed, text } of checks) {
      list.append(line(passed === null ? "not checked" : passed ? "passed" : "failed", text));
    }
    const state = checks.some(({ passed }) => passed === false) ? "invalid" : keys.length ? "valid" : "unknown";
    result.textContent = RESULTS[state](claim, index);
    result.dataset.state = state;
  } catch (error) {
    result.textContent = `Not verified: ${error.message}`;
    result.dataset.state = "invalid";
  }
  button.disabled = false;
};

if (box) {
  box.hidden = false;
  button.addEventListener("click", verify);
}
