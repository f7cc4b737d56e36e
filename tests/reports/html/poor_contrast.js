// Texts whose contrast with their ground is poor.
(() => {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (el) => {
    for (; el; el = el.parentElement) {
      const rgb = parse(getComputedStyle(el).backgroundColor);
      if (rgb.length === 3 || rgb[3] === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const poor = [];
  document.querySelectorAll('details').forEach((el) => { el.open = true });
  for (const el of document.querySelectorAll(
    'h1,h2,p,dt,dd,.tile b,.tile span,output,summary code,.label,.verb,.badge,.diff span,'
    + '.pairs th,.pairs pre,.pairs span,.remarks li,button,select,strong'
  )) {
    const style = getComputedStyle(el);
    if (!el.textContent.trim() || el.closest('[hidden]')) continue;
    const [a, b] = [light(parse(style.color)), light(ground(el))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push([el.className || el.tagName, el.textContent.slice(0, 30), ratio]);
  }
  return poor.slice(0, 5);
})()
