// The part of the page that has points simulated: a control for each axis, what the server says of the chosen point,
// and charts anew when runs have ended. All text of the server is set as text.
(() => {
  const kBusy_ms = 500, kIdle_ms = 3000, kSettle_ms = 350, kSteps = 1000, kSnap = 0.015;
  // What the panel shows of a point; the charts have the rest.
  const kShown = [["throughput_samples_per_s", "samples/s"], ["iteration_time_mean_s", "s a step"], ["scaling_efficiency", "efficiency"],
    ["time_to_target_s", "s to the target"], ["test_accuracy_final", "test accuracy"], ["train_loss_final", "training loss"],
    ["simulated_time_s", "s simulated"], ["cost_usd", "USD"]];
  let element, shown, panel, live, study = 0, ticket = null, version = 0, asked = 0, timer = null;

  const ask = async (path, body) => {
    const response = await fetch(path, body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
    const text = await response.text();
    let answer = null;
    try { answer = JSON.parse(text); } catch { answer = { error: text }; }
    if (!response.ok) throw new Error(answer.error || `The server answered with ${response.status}.`);
    return answer;
  };

  // A slider over a range, even in ratios where these matter, that stops at the study's own values; a number beside it.
  const slider = (range, changed) => {
    const { from, to, whole, log, values } = range;
    const place = (x) => (log ? Math.log(x / from) / Math.log(to / from) : (x - from) / (to - from)) * kSteps;
    const value = (at) => {
      const near = values.find((each) => Math.abs(place(each) - at) <= kSnap * kSteps);
      if (near !== undefined) return near;
      const x = log ? from * (to / from) ** (at / kSteps) : from + (to - from) * (at / kSteps);
      return whole ? Math.round(x) : Number(x.toPrecision(3));
    };
    const first = values.length ? values[0] : value(0);
    const few = whole && !log && to - from <= kSteps;
    const bar = few ? element("input", { type: "range", min: from, max: to, step: 1 }) : element("input", { type: "range", min: 0, max: kSteps, step: kSteps / 100 });
    const number = element("input", { type: "number", min: from, max: to, step: whole ? 1 : "any", required: "" });
    number.value = first;
    bar.value = few ? first : place(first);
    bar.addEventListener("input", () => { number.value = few ? bar.value : value(Number(bar.value)); });
    bar.addEventListener("change", changed);
    number.addEventListener("change", () => {
      bar.value = few ? number.value : place(Number(number.value));
      changed();
    });
    return { parts: [bar, number], bar, get: () => ({ number: Number(number.value) }), ok: () => number.checkValidity() };
  };

  const choice = (labels, changed) => {
    const select = element("select", {});
    labels.forEach((label, i) => select.append(element("option", { value: i }, label)));
    select.addEventListener("change", changed);
    return { parts: [select], get: () => ({ choice: Number(select.value) }), ok: () => true };
  };

  const control = (each, changed) => {
    const made = each.range ? slider(each.range, changed) : choice(each.labels, changed);
    const name = each.range?.unit ? `${each.name} (${each.range.unit})` : each.name;
    made.parts.forEach((part, i) => part.setAttribute("aria-label", i ? `${name}, number` : name));
    made.root = element("div", { class: "control", "data-control": each.name }, name, element("span", {}, ...made.parts));
    return made;
  };

  const say = (text, bad) => {
    panel.said.textContent = text;
    panel.said.className = bad ? "meta bad error" : "meta error";
  };

  const showPoint = () => {
    const of = (state) => ticket.runs.filter((run) => run.state === state);
    const done = of("done"), wrong = [...of("failed"), ...of("impossible")];
    const parts = [`${done.length} of ${ticket.runs.length} done`];
    for (const state of ["running", "waiting", "dropped", "failed", "impossible"]) if (of(state).length) parts.push(`${of(state).length} ${state}`);
    const at = Object.entries(ticket.at).map(([name, label]) => `${name} ${label}`).join(", ");
    say([`${at ? `${at}: ` : ""}${parts.join(", ")}`, ...new Set(wrong.map((run) => run.error))].join("\n"), wrong.length > 0);
    panel.values.replaceChildren(...kShown.flatMap(([name, title]) => {
      const values = done.map((run) => run.metrics[name]).filter((value) => value !== undefined);
      if (!values.length) return [];
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const ends = done.length === 1 ? (done[0].intervals[name] || []).at(-1) : null;
      const interval = ends ? ` (90 % in ${shown(ends.low, { unit: "1" })} to ${shown(ends.high, { unit: "1" })})` : "";
      return [element("div", {}, element("dt", {}, values.length > 1 ? `${title}, mean of ${values.length}` : title),
        element("dd", { "data-metric": name }, shown(mean, { unit: "1" }) + interval))];
    }));
  };

  const simulate = async () => {
    clearTimeout(timer);
    if (!panel.controls.every((each) => each.ok()) || !panel.seeds.checkValidity()) return panel.form.reportValidity();
    const mine = ++asked;
    try {
      const answer = await ask("/points", { study, at: panel.controls.map((each) => each.get()), seeds: Number(panel.seeds.value) });
      if (mine !== asked) return;
      ticket = answer;
      showPoint();
    } catch (error) {
      if (mine !== asked) return;
      ticket = null;
      panel.values.replaceChildren();
      say(error.message, true);
    }
    look();
  };

  const changed = () => {
    clearTimeout(timer);
    if (panel.atOnce.checked) timer = setTimeout(simulate, kSettle_ms);
  };

  const build = () => {
    const { controls, seeds } = live.studies[study];
    panel.controls = controls.map((each) => control(each, changed));
    panel.seeds = element("input", { type: "number", min: 1, max: Math.max(1, seeds), step: 1, required: "", "aria-label": "seeds" });
    panel.seeds.value = Math.max(1, seeds);
    panel.seeds.addEventListener("change", changed);
    const seedControl = seeds > 1 ? element("div", { class: "control" }, `seeds, up to ${seeds}`, element("span", {}, panel.seeds)) : null;
    panel.place.replaceChildren(...panel.controls.map((each) => each.root), ...(seedControl ? [seedControl] : []));
  };

  let looking = null, lookAgain = null;
  const look = () => {
    clearTimeout(lookAgain);
    looking ??= lookOnce().finally(() => { looking = null; });
    return looking;
  };
  const lookOnce = async () => {
    let wait = kIdle_ms;
    try {
      const state = await ask("/state");
      if (state.running + state.waiting > 0) wait = kBusy_ms;
      panel.state.textContent = `${state.running} running, ${state.waiting} waiting, ${state.simulated} simulated${state.failed ? ` (${state.failed} failed)` : ""}; ${state.left.toLocaleString("en")} more allowed`;
      if (ticket && ticket.runs.some((run) => ["running", "waiting"].includes(run.state))) {
        const now = asked;
        const answer = await ask(`/point?ticket=${ticket.ticket}`);
        if (now === asked) { ticket = answer; showPoint(); }
      }
      if (state.version !== version) {
        const report = await ask("/report");
        version = state.version;
        window.simsgd.show(report);
        entitle();
        if (ticket?.runs.some((run) => run.state === "done")) window.simsgd.choose(ticket.study, ticket.at);
      }
    } catch (error) {
      panel.state.textContent = `The server does not answer: ${error.message}`;
    }
    lookAgain = setTimeout(look, document.hidden ? kIdle_ms : wait);
  };

  // A store that is gone at the end has no name worth telling.
  const entitle = () => {
    if (live.store === null) document.querySelector("#page h1").textContent = "Explored so far";
  };

  const start = async () => {
    ({ element, shown } = window.simsgd);
    live = await ask("/controls");
    version = window.simsgdVersion;
    entitle();
    const notes = [...live.reasons, ...(window.vegaEmbed ? [] : ["There are tables and no charts: Vega, which draws them, is not here (./setup.sh web)."])]
      .map((text) => element("p", { class: "meta" }, text));
    const root = element("section", { id: "live", "aria-label": "Explore" }, ...notes);
    document.getElementById("page").before(root);
    if (!live.studies.length) return;
    panel = { place: element("div", { class: "controls" }), values: element("dl", { class: "values" }), said: element("p", { role: "status" }),
      state: element("p", { class: "meta" }), atOnce: element("input", { type: "checkbox", checked: "" }) };
    const which = element("select", { "aria-label": "study" });
    live.studies.forEach((each, i) => which.append(element("option", { value: i }, each.name)));
    which.addEventListener("change", () => { study = Number(which.value); ticket = null; say("", false); panel.values.replaceChildren(); build(); });
    const drop = element("button", { type: "button" }, "Drop those that wait");
    drop.addEventListener("click", () => ask("/drop", {}).then(look, (error) => say(error.message, true)));
    const kept = live.store === null ? "Runs are kept until the server ends; simsgd explore STUDY -o F.db keeps them." : `Runs are kept in ${live.store}.`;
    panel.form = element("form", { novalidate: "" }, element("h2", {}, live.studies.length > 1 ? "Explore " : `Explore ${live.studies[0].name}`,
      live.studies.length > 1 ? which : null), panel.place,
      element("div", { class: "actions" }, element("button", { class: "first" }, "Simulate"), drop, element("label", {}, panel.atOnce, "at once when a value changes")),
      panel.said, panel.values, panel.state, element("p", { class: "meta" }, kept));
    panel.form.addEventListener("submit", (event) => { event.preventDefault(); simulate(); });
    root.append(panel.form);
    build();
    say("Set values and simulate: the point appears here and in the charts.", false);
    window.simsgdLive = { look, simulate, ticket: () => ticket };
    document.documentElement.dataset.live = "yes";
    look();
  };

  const begin = () => start().catch((error) => console.error(error));
  if (document.documentElement.dataset.ready === "yes") begin();
  else document.addEventListener("simsgd-ready", begin, { once: true });
})();
