/** The looks of the page of the API: the colours and types of the web page, laid out for reading. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f7f7f5, #0c0d0e);
  --surface: light-dark(#ffffff, #131416);
  --sunken: light-dark(#f1f1ee, #0f1011);
  --hover: light-dark(#ededea, #1c1d20);
  --line: light-dark(#e5e4e0, #232528);
  --line-strong: light-dark(#d3d2cd, #34373b);
  --text: light-dark(#1b1b19, #ededeb);
  --text-soft: light-dark(#5c5b57, #a5a6a9);
  --text-faint: light-dark(#6d6c67, #85878b);
  --accent: light-dark(#0a734b, #43c88f);
  --accent-soft: light-dark(#e2f3ea, #12281f);
  --loss: light-dark(#b42a24, #f4837b);
  --loss-soft: light-dark(#fbeae8, #2d1716);
  --wait: light-dark(#8a5a00, #e0b050);
  --wait-soft: light-dark(#faf0d9, #2a2112);
  --sans:
    -apple-system, 'Inter', 'Segoe UI Variable Text', 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial,
    system-ui, sans-serif;
  --mono: ui-monospace, SFMono-Regular, 'SF Mono', Menlo, 'Cascadia Mono', Consolas, 'Liberation Mono', monospace;
  --radius: 8px;
  --radius-small: 6px;
}
*, *::before, *::after { box-sizing: border-box; }
html {
  background: var(--ground);
  color: var(--text);
  font: 14px/1.55 var(--sans);
  font-variant-numeric: tabular-nums;
  text-rendering: optimizelegibility;
  -webkit-font-smoothing: antialiased;
  scroll-padding-top: 24px;
}
body { display: grid; grid-template-columns: 288px minmax(0, 1fr); margin: 0; }
h1, h2, h3, h4, p, ul, dl, dd, pre, figure { margin: 0; padding: 0; }
ul { list-style: none; }
code, pre, var { font-family: var(--mono); font-size: 0.92em; font-style: normal; font-variant-ligatures: none; }
a { color: inherit; text-decoration: none; }
p a, dd a, .type a { color: var(--accent); text-decoration: underline; text-decoration-color: color-mix(in srgb, currentcolor 40%, transparent); text-underline-offset: 3px; }
p a:hover, dd a:hover, .type a:hover { text-decoration-color: currentcolor; }
small { font-size: 12px; font-weight: 400; color: var(--text-faint); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px; }

nav {
  position: sticky; top: 0; height: 100vh; overflow-y: auto; overscroll-behavior: contain;
  padding: 20px 12px 32px; border-right: 1px solid var(--line); background: var(--surface); scrollbar-width: thin;
}
.brand a { display: flex; text-decoration: none; align-items: center; gap: 9px; padding: 0 8px; color: inherit; font-size: 15px; font-weight: 600; letter-spacing: -0.01em; }
.brand-mark { width: 22px; height: 22px; fill: none; stroke-width: 2.2; stroke-linecap: round; }
.brand-line { stroke: var(--text-faint); }
.brand-fill { stroke: var(--accent); }
nav h2 { margin: 20px 8px 4px; color: var(--text-soft); font-size: 12.5px; font-weight: 600; }
nav li a { display: flex; align-items: baseline; gap: 8px; padding: 3px 8px; border-radius: var(--radius-small); color: var(--text-soft); font-size: 13px; line-height: 1.4; }
nav li a:hover { background: var(--hover); color: var(--text); }
nav .verb { flex: none; width: 38px; padding: 0; background: none; text-align: left; }

main { max-width: 1180px; padding: 44px 48px 96px; }
header h1 { font-size: 26px; font-weight: 650; letter-spacing: -0.02em; line-height: 1.2; }
header p { max-width: 68ch; margin-top: 10px; color: var(--text-soft); }
header h1 + p { color: var(--text); font-size: 15px; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 6px 18px; }
dt { font-weight: 600; }
dd { color: var(--text-soft); }
.credentials { margin-top: 22px; padding: 14px 16px; border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface); }
section { margin-top: 56px; }
section > h2 { font-size: 20px; font-weight: 650; letter-spacing: -0.015em; }
section > .about { max-width: 68ch; margin-top: 4px; color: var(--text-soft); }
section > dl { margin-top: 20px; }
article { margin-top: 24px; padding: 20px 22px; border: 1px solid var(--line); border-radius: 12px; background: var(--surface); }
article:target { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
article h3 { font-size: 16px; font-weight: 600; letter-spacing: -0.01em; }
article h3 a:hover { color: var(--accent); }
.route { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; margin-top: 6px; }
.route code { font-size: 13.5px; overflow-wrap: anywhere; }
.route var { color: var(--accent); }
.verb { padding: 1px 7px; border-radius: 4px; font: 600 11px/1.6 var(--mono); letter-spacing: 0.02em; }
.get { background: var(--accent-soft); color: var(--accent); }
.post { background: var(--wait-soft); color: var(--wait); }
.delete { background: var(--loss-soft); color: var(--loss); }
nav .delete { font-size: 10px; letter-spacing: 0; }
.scope { margin-left: auto; color: var(--text-faint); font-size: 12.5px; }
.scope b { color: var(--text-soft); font-weight: 600; }

.sides { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 28px; margin-top: 12px; }
.facts > p:not(.content) { margin-bottom: 8px; color: var(--text-soft); }
h4 { margin: 18px 0 6px; padding-bottom: 4px; border-bottom: 1px solid var(--line); color: var(--text-soft); font-size: 12.5px; font-weight: 600; }
.facts > h4:first-child { margin-top: 0; }
.members > li { padding: 5px 0; }
.members > li + li { border-top: 1px solid var(--line); }
.member { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 8px; }
.name { color: var(--text); font-weight: 600; }
.type { color: var(--text-soft); font-size: 13px; }
.required { color: var(--loss); font-size: 11.5px; }
.optional { display: none; color: var(--text-faint); font-size: 11.5px; }
.answer .required { display: none; }
.answer .optional { display: inline; }
.bounds { color: var(--text-faint); font-size: 12px; }
.members .about { color: var(--text-soft); font-size: 13px; }
.members .members, .variants { margin: 4px 0 2px; padding-left: 12px; border-left: 2px solid var(--line); }
.variants > div + div { margin-top: 8px; padding-top: 4px; border-top: 1px dashed var(--line-strong); }
.content { color: var(--text-soft); font-size: 13px; }
.answer + .answer { margin-top: 10px; }
.answer > p:first-child { color: var(--text-soft); }
.status { margin-right: 4px; color: var(--accent); font-weight: 600; }
.refusals { margin-top: 14px; }
.refusals summary { width: fit-content; color: var(--text-soft); font-size: 12.5px; font-weight: 600; cursor: pointer; }
.refusals dl { margin-top: 8px; font-size: 13px; }
.refusals dt { color: var(--loss); }

figure + figure { margin-top: 12px; }
figcaption { margin-bottom: 4px; color: var(--text-faint); font-size: 12px; }
pre { overflow-x: auto; padding: 12px 14px; border: 1px solid var(--line); border-radius: var(--radius); background: var(--sunken); font-size: 12.5px; line-height: 1.55; tab-size: 2; }

@media (max-width: 1080px) {
  .sides { grid-template-columns: minmax(0, 1fr); gap: 18px; }
}
@media (max-width: 760px) {
  body { display: block; }
  nav { position: static; height: auto; max-height: 46vh; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 28px 16px 64px; }
  article { padding: 16px; }
  .scope { margin-left: 0; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 2px; }
  dd + dt { margin-top: 8px; }
  code { overflow-wrap: anywhere; }
}
`;
