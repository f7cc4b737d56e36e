"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const bar = byId("bar"), query = byId("q"), kind = byId("kind"), shown = byId("shown");
  const unfold = byId("unfold"), nothing = byId("nothing");
  const number = new Intl.NumberFormat("en");
  const groups = [...document.querySelectorAll("[data-group]")].map((el) => ({
    el,
    count: el.querySelector("[data-count]"),
    tile: document.querySelector(`.tile[data-section="${el.id}"]`),
    lots: [...el.querySelectorAll(".lot")].map((lot) => ({
      lot,
      visible: -1,
      items: [...lot.children].map((row) => ({
        row, kind: row.dataset.k, text: null, hidden: false,
      })),
    })),
    size: 0,
    visible: -1,
    opened: false,
  }));
  for (const group of groups) {
    for (const { items } of group.lots) group.size += items.length;
  }
  const all = groups.flatMap((group) => group.lots.flatMap((lot) => lot.items));

  // The index is made while nobody waits; what is still missing is made when it is needed.
  let indexed = 0;
  const index = (deadline) => {
    while (indexed < all.length && (!deadline || deadline.timeRemaining() > 1)) {
      const item = all[indexed++];
      item.text = item.row.textContent.toLowerCase();
    }
    if (deadline && indexed < all.length) idle(index);
  };
  const idle = window.requestIdleCallback
    || ((work) => setTimeout(() => work({ timeRemaining: () => 5 }), 30));

  const filter = () => {
    performance.mark("filter-start");
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) index();
    const only = kind.value;
    let total = 0;
    // Read nothing of the layout in here: writes only, so that it is laid out once.
    for (const group of groups) {
      const on = group.tile.getAttribute("aria-pressed") === "true";
      let visible = 0;
      for (const lot of group.lots) {
        let left = 0;
        for (const item of lot.items) {
          const hidden = !on || (only !== "" && only !== item.kind)
            || !words.every((word) => item.text.includes(word));
          if (hidden !== item.hidden) item.row.hidden = item.hidden = hidden;
          if (!hidden) left++;
        }
        if (left !== lot.visible) {
          lot.visible = left;
          lot.lot.hidden = left === 0;
          // The height to reckon with while the lot is out of sight.
          lot.lot.style.containIntrinsicBlockSize = left === lot.items.length ? ""
            : `auto ${left * 44}px`;
        }
        visible += left;
      }
      if (visible !== group.visible) {
        group.visible = visible;
        group.el.hidden = visible === 0;
        group.count.textContent = visible === group.size ? number.format(visible)
          : `${number.format(visible)} of ${number.format(group.size)}`;
      }
      if (group.el.tagName === "DETAILS") {
        const narrow = words.length > 0 && visible > 0 && visible <= 200;
        if (narrow && !group.el.open) group.el.open = group.opened = true;
        else if (!narrow && group.opened) group.el.open = group.opened = false;
      }
      total += visible;
    }
    nothing.hidden = total > 0;
    shown.textContent = total === all.length ? `${number.format(total)} resources`
      : `${number.format(total)} of ${number.format(all.length)} resources`;
    performance.measure("filter", "filter-start");
  };
  let pending = 0;
  const soon = () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(filter);
  };

  query.addEventListener("input", soon);
  kind.addEventListener("change", soon);
  bar.addEventListener("submit", (event) => event.preventDefault());
  // Without this script a tile leads to its section.
  for (const { tile } of groups) {
    tile.setAttribute("role", "button");
    tile.setAttribute("aria-pressed", "true");
    tile.title = "Show or hide";
    const toggle = (event) => {
      if (event.type === "keydown" && event.key !== " ") return;
      event.preventDefault();
      tile.setAttribute("aria-pressed", tile.getAttribute("aria-pressed") !== "true");
      soon();
    };
    tile.addEventListener("click", toggle);
    tile.addEventListener("keydown", toggle);
  }
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    unfold.setAttribute("aria-pressed", open);
    unfold.textContent = open ? "Fold all" : "Unfold all";
    for (const item of all) if (!item.hidden && item.row.tagName === "DETAILS") item.row.open = open;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      query.focus();
    } else if (event.key === "Escape" && event.target === query && query.value) {
      query.value = "";
      soon();
    }
  });

  // A link to something folded or filtered away shows it.
  const reveal = () => {
    const target = location.hash && byId(location.hash.slice(1));
    if (!target) return;
    const group = target.closest("[data-group]");
    if (target.hidden || (group && group.hidden)) {
      query.value = kind.value = "";
      for (const { tile } of groups) tile.setAttribute("aria-pressed", "true");
      filter();
    }
    if (group && group.tagName === "DETAILS") group.open = true;
    if (target.tagName === "DETAILS") target.open = true;
    target.scrollIntoView({ block: target.matches("[data-k]") ? "center" : "start" });
    const focus = target.matches("details") ? target.querySelector("summary") : target;
    if (focus !== target) focus.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);

  const canvas = document.querySelector("#graph svg");
  if (canvas) {
    const curves = [...canvas.querySelectorAll("[data-a]")];
    const nodes = new Map([...canvas.querySelectorAll("[data-n]")].map((el) => [el.dataset.n, el]));
    let lit = [];
    const light = (event) => {
      for (const el of lit) el.classList.remove("on");
      lit = [];
      const node = event && event.target.closest(".node");
      canvas.classList.toggle("lit", Boolean(node));
      if (!node) return;
      const at = node.dataset.n;
      lit = [node];
      for (const el of curves) {
        if (el.dataset.a === at) lit.push(el, nodes.get(el.dataset.b));
        else if (el.dataset.b === at) lit.push(el, nodes.get(el.dataset.a));
      }
      for (const el of lit) el.classList.add("on");
    };
    canvas.addEventListener("pointerover", light);
    canvas.addEventListener("pointerleave", () => light(null));
    canvas.addEventListener("focusin", light);
    canvas.addEventListener("focusout", () => light(null));
  }

  bar.hidden = false;
  if (location.hash) reveal();
  idle(index);
  performance.mark("ready");
})();
