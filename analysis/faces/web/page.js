// The page: charts and tables of what `simsgd report` computed. It chooses rows and draws; it computes nothing.
"use strict";
(() => {
  const kMostTableRows = 500;
  const kWide = ["winners", "step_times", "links"];

  // An element with text, attributes and children. Text is text: no label is ever read as HTML.
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  };

  const inflate = (id) => {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };

  const rowsOf = (chart) => {
    const columns = chart.columns.map(({ field, texts, values }) => ({ field, texts, values }));
    return columns[0].values.map((_, r) => {
      const row = {};
      for (const { field, texts, values } of columns) row[field] = texts && values[r] !== null ? texts[values[r]] : values[r];
      return row;
    });
  };

  const shown = (value, column) => {
    if (value === null || value === undefined) return "";
    if (column.unit === "" || typeof value !== "number") return String(value);
    if (!column.shown) return value.toLocaleString("en", { maximumSignificantDigits: Number.isInteger(value) ? 9 : 4 });
    const { size, decimals } = column.shown;
    return (value / size).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  };

  class ChartView {
    constructor(chart, study, config) {
      Object.assign(this, { chart, study, config, view: null, highlight: "", wanted: Promise.resolve() });
      this.byKey = new Map();
      for (const row of rowsOf(chart)) {
        const key = JSON.stringify(chart.filters.map((field) => row[field]));
        if (!this.byKey.has(key)) this.byKey.set(key, []);
        this.byKey.get(key).push(row);
      }
      this.drawing = element("div", { class: "drawing" });
      this.none = element("p", { class: "none", hidden: "" }, "No run has these values.");
      this.at = element("p", { class: "at" });
      this.scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${chart.title}` });
      this.summary = element("summary", {}, "Table");
      this.details = element("details", {}, this.summary, this.scroll);
      this.details.addEventListener("toggle", () => this.fillTable());
      const title = element("h3", {}, chart.title);
      title.id = `${study.id}-${chart.name}`;
      this.root = element("figure", { class: kWide.includes(chart.name) ? "chart wide" : "chart", "data-chart": chart.name,
        role: "group", "aria-labelledby": title.id }, title, this.at, this.drawing, this.none,
        element("figcaption", { class: "caption" }, chart.caption, document.createElement("br"), "Again: ", element("code", {}, chart.command)),
        this.details);
      this.select(study.chosen);
    }

    select(chosen) {
      this.rows = this.byKey.get(JSON.stringify(this.chart.filters.map((field) => chosen[field]))) || [];
      const names = new Map(this.study.axes.map((axis) => [axis.field, axis.name]));
      this.at.textContent = this.chart.filters.map((field) => `${names.get(field)}: ${chosen[field]}`).join(" · ");
      this.none.hidden = this.rows.length > 0;
      this.drawing.hidden = this.rows.length === 0;
      this.summary.textContent = `Table (${this.rows.length} rows)`;
      if (this.details.open) this.fillTable();
      return this.refresh();
    }

    setHighlight(label) {
      this.highlight = label;
      return this.refresh();
    }

    // One drawing at a time: a second choice waits for the first.
    refresh() {
      this.wanted = this.wanted.then(() => {
        if (!this.view) return null;
        return this.view.signal("highlight", this.highlight).data("rows", this.rows).runAsync();
      });
      return this.wanted;
    }

    draw() {
      if (this.asked) return this.wanted;
      this.asked = true;
      if (!window.vegaEmbed) {
        this.drawing.hidden = true;
        this.details.open = true;
        this.root.dataset.drawn = "no";
        return this.wanted;
      }
      this.drawing.hidden = false;
      this.wanted = this.wanted.then(async () => {
        const spec = { ...this.chart.spec, datasets: { rows: this.rows } };
        const made = await vegaEmbed(this.drawing, spec, { renderer: "svg", actions: false, defaultStyle: false,
          config: this.config, tooltip: { disableDefaultStyle: true } });
        this.view = made.view;
        this.drawing.hidden = this.rows.length === 0;
        if (this.highlight) await this.view.signal("highlight", this.highlight).runAsync();
        this.root.dataset.drawn = "yes";
        this.drawing.style.minHeight = "";
      }).catch((error) => {
        this.drawing.replaceChildren(element("p", { class: "bad" }, `This chart could not be drawn: ${error.message}`));
        console.error(error);
      });
      return this.wanted;
    }

    fillTable() {
      if (!this.details.open) return;
      const { columns } = this.chart;
      const heads = columns.map((column) => element("th", { scope: "col", class: column.unit ? "number" : "text" },
        column.unit && column.shown.unit ? `${column.title} (${column.shown.unit})` : column.title));
      const body = this.rows.slice(0, kMostTableRows).map((row) => element("tr", {}, ...columns.map((column) =>
        element("td", { class: column.unit ? "number" : "text" }, shown(row[column.field], column)))));
      this.scroll.replaceChildren(element("table", {}, element("caption", { class: "caption", hidden: "" }, this.chart.title),
        element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body)));
      if (this.rows.length > kMostTableRows)
        this.scroll.append(element("p", { class: "caption" }, `The first ${kMostTableRows} of ${this.rows.length} rows; the CSV has all.`));
    }
  }

  // What is best in each circumstance: the table of `simsgd results winners`.
  const headline = ({ id, headline: { title, header, rows, notes } }) => {
    const cells = (tag, texts) => element("tr", {}, ...texts.map((text) => element(tag, tag === "th" ? { scope: "col" } : {}, text)));
    return element("section", { class: "headline", "aria-label": "What is best", id: `${id}-headline` },
      element("h3", {}, "What is best"), element("p", { class: "meta" }, title),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table: what is best" },
        element("table", {}, element("thead", {}, cells("th", header)), element("tbody", {}, ...rows.map((row) => cells("td", row))))),
      ...notes.map((note) => element("p", { class: "meta" }, note)));
  };

  const chooser = (name, labels, chosen, change) => {
    const select = element("select", { "data-filter": name });
    for (const label of labels) select.append(element("option", { value: label }, label === "" ? "all" : label));
    select.value = chosen;
    select.addEventListener("change", () => change(select.value));
    return element("label", {}, name, select);
  };

  // What a reader has set, of the page before: by names, since fields are numbered anew.
  const settingsOf = ({ views, report, page }) => {
    const studies = Object.fromEntries(report.studies.map((study) => [study.name,
      { chosen: Object.fromEntries(study.axes.map((axis) => [axis.name, study.chosen[axis.field]])), highlight: study.highlight }]));
    const charts = Object.fromEntries(views.map((view) => [`${view.study.name} ${view.chart.name}`,
      { open: view.details.open, height: view.drawing.offsetHeight }]));
    const focused = document.activeElement?.dataset.filter && page.contains(document.activeElement)
      ? [document.activeElement.closest("section").id, document.activeElement.dataset.filter] : null;
    return { studies, charts, focused };
  };

  const studySection = (study, config, before) => {
    const had = before?.studies[study.name];
    study.chosen = Object.fromEntries(study.axes.map(({ field, name, labels }) =>
      [field, labels.includes(had?.chosen[name]) ? had.chosen[name] : labels[0]]));
    study.highlight = had?.highlight ?? "";
    const views = study.charts.map((chart) => new ChartView(chart, study, config));
    const section = element("section", { id: study.id, "aria-label": study.name }, element("h2", {}, study.name));
    const failed = study.failed > 0 ? element("span", { class: "bad" }, `, ${study.failed} failed`) : null;
    const waiting = study.points - study.done - study.failed;
    section.append(element("p", { class: "meta" }, study.file ? `${study.file}: ` : "",
      `${study.done.toLocaleString("en")} of ${study.points.toLocaleString("en")} runs done`, failed,
      waiting > 0 ? `, ${waiting} to run` : "", study.seeds > 1 ? `; up to ${study.seeds} seeds a point` : "; one seed a point"));
    if (study.errors.length) section.append(element("ul", { class: "bad" }, ...study.errors.map((error) => element("li", {}, error))));
    for (const note of study.notes) section.append(element("p", { class: "meta" }, note));
    const filtered = new Set(study.charts.flatMap((chart) => chart.filters));
    const bar = element("div", { class: "filters", role: "group", "aria-label": `What the charts of ${study.name} show` });
    for (const axis of study.axes)
      if (filtered.has(axis.field))
        bar.append(chooser(axis.name, axis.labels, study.chosen[axis.field], (label) => {
          study.chosen[axis.field] = label;
          for (const view of views) if (view.chart.filters.includes(axis.field)) view.select(study.chosen);
        }));
    const series = study.axes.find((axis) => axis.field === study.series);
    if (series) {
      const highlight = (label) => {
        study.highlight = label;
        for (const view of views) view.setHighlight(label);
      };
      if (!series.labels.includes(study.highlight)) study.highlight = "";
      bar.append(chooser(`highlight ${series.name}`, ["", ...series.labels], study.highlight, highlight));
      if (study.highlight) highlight(study.highlight);
    }
    if (study.headline) section.append(headline(study));
    if (bar.children.length) section.append(bar);
    section.append(element("div", { class: "charts" }, ...views.map((view) => view.root)));
    if (study.left_out.length)
      section.append(element("details", { class: "left" }, element("summary", {}, `Charts left out (${study.left_out.length})`),
        element("ul", {}, ...study.left_out.map(({ title, why }) => element("li", {}, `${title}: ${why}`)))));
    return { section, views };
  };

  let shownNow = null;

  // Puts a report on the page, in place of the one that is there.
  const show = (report) => {
    const page = document.getElementById("page");
    const before = shownNow && settingsOf(shownNow);
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) views.find((view) => view.root === entry.target).draw();
    }, { rootMargin: "400px" });
    const views = [];
    report.studies.forEach((study, i) => { study.id = `study-${i + 1}`; });
    const sections = report.studies.map((study) => {
      const made = studySection(study, report.config, before);
      views.push(...made.views);
      return made.section;
    });
    for (const view of views) {
      const had = before?.charts[`${view.study.name} ${view.chart.name}`];
      if (had?.height) view.drawing.style.minHeight = `${had.height}px`;
      if (had?.open) view.details.open = true;
    }
    shownNow?.near.disconnect();
    for (const view of shownNow?.views ?? []) view.wanted.then(() => view.view?.finalize());
    page.replaceChildren(element("h1", {}, report.store.split("/").pop()), element("p", { class: "meta" },
      "Simulated by SimSGD. Click names in a legend to see them alone; click again to see all."));
    if (report.studies.length > 1)
      page.append(element("nav", { "aria-label": "Studies" }, ...report.studies.map((study) => element("a", { href: `#${study.id}` }, study.name))));
    page.append(...sections);
    if (before?.focused) {
      const [section, filter] = before.focused;
      [...document.getElementById(section)?.querySelectorAll("select") ?? []].find((each) => each.dataset.filter === filter)?.focus();
    }
    for (const view of views) near.observe(view.root);
    shownNow = { views, report, page, near };
    const drawAll = async () => { for (const view of views) await view.draw(); };
    window.simsgd = { views, drawAll, report, show, choose, element, shown };
  };

  // Sets filters of a study: {"severity": "0.7"}. Names that it does not filter by are passed over.
  const choose = (name, labels) => {
    const study = shownNow.report.studies.find((each) => each.name === name);
    if (!study) return;
    for (const select of document.getElementById(study.id).querySelectorAll("select[data-filter]")) {
      const label = labels[select.dataset.filter];
      if (label === undefined || select.value === label || ![...select.options].some((each) => each.value === label)) continue;
      select.value = label;
      select.dispatchEvent(new Event("change"));
    }
  };

  const start = async () => {
    const [libraries, text] = await Promise.all([inflate("libraries"), inflate("report")]);
    if (libraries) document.head.append(element("script", {}, libraries));
    show(JSON.parse(text));
    window.addEventListener("beforeprint", () => window.simsgd.drawAll());
    document.documentElement.dataset.ready = "yes";
    document.dispatchEvent(new Event("simsgd-ready"));
  };

  start().catch((error) => {
    document.getElementById("page").replaceChildren(element("p", { class: "bad" }, `This page needs a newer browser: ${error.message}`));
    console.error(error);
  });
})();
