// Draws dashboards from a live Prometheus: bundles render.jsx, serves it, and lets Chromium make a picture of each.
//
//   node preview.mjs --prometheus http://127.0.0.1:9090 [--out out] [--seconds 300] [--width 1600] [--instance NODE] [--rows N] [BOARD…]
import { build } from 'esbuild';
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

const here = import.meta.dirname;
const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    prometheus: { type: 'string' }, out: { type: 'string', default: path.join(here, 'out') }, instance: { type: 'string' },
    seconds: { type: 'string', default: '300' }, width: { type: 'string', default: '1600' }, rows: { type: 'string' },
  },
});
if (!given.prometheus) {
  console.error('--prometheus is missing: the address of one that scrapes an agent, such as http://127.0.0.1:9090');
  process.exit(2);
}
const folder = path.join(here, '..');
const boards = positionals.length > 0 ? positionals : readdirSync(folder).filter((name) => name.endsWith('.json'));
const scratch = mkdtempSync(path.join(tmpdir(), 'rocewatch-preview-'));
mkdirSync(given.out, { recursive: true });

// The ES modules of these packages do not survive bundling; their CommonJS does.
const commonjs = {
  name: 'commonjs',
  setup({ onResolve }) {
    onResolve({ filter: /^@grafana\/(ui|data|schema|i18n|e2e-selectors)$/ }, ({ path: name }) =>
      ({ path: path.join(here, 'node_modules', name, 'dist/cjs/index.cjs') }));
  },
};
await build({
  entryPoints: [path.join(here, 'render.jsx')], bundle: true, minify: true, outfile: path.join(scratch, 'bundle.js'), plugins: [commonjs],
  define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
  loader: { '.svg': 'text', '.png': 'dataurl', '.woff2': 'dataurl', '.ttf': 'dataurl' },
});

const page = `<!doctype html><meta charset=utf-8><title>rocewatch</title><link rel=stylesheet href=/bundle.css><style>
  body { margin: 0; background: #111217; color: #ccccdc; font: 14px Inter, "DejaVu Sans", sans-serif }
  #root h1 { font-size: 18px; margin: 12px } #root h2 { font-size: 15px; font-weight: 500; margin: 8px }
  .words { padding: 0 8px } .nothing { display: flex; align-items: center; justify-content: center; color: #8f98a3 }
</style><div id=root></div><script src=/bundle.js></script>`;

let reported = () => {};
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname === '/report') {
    let text = '';
    request.on('data', (part) => { text += part; }).on('end', () => { response.end(); reported(JSON.parse(text)); });
    return;
  }
  try {
    const sent = pathname === '/' ? page : readFileSync(pathname.startsWith('/board/')
      ? path.join(folder, path.basename(pathname)) : path.join(scratch, path.basename(pathname)));
    const type = pathname.endsWith('.js') ? 'text/javascript' : pathname.endsWith('.css') ? 'text/css' : 'text/html';
    response.writeHead(200, { 'content-type': type }).end(sent);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));

async function picture(board) {
  const { panels } = JSON.parse(readFileSync(path.join(folder, board)));
  const end = (row) => Math.max(...panels.filter((panel) => panel.gridPos.y < row).map(({ gridPos }) => gridPos.y + gridPos.h));
  const height = end(Number(given.rows ?? Infinity)) * 38 + 52;
  const query = new URLSearchParams({ board, prometheus: given.prometheus, seconds: given.seconds, width: given.width });
  if (given.instance && board !== 'rocewatch-fleet.json') query.set('instance', given.instance);
  const file = path.join(given.out, board.replace('.json', '.png'));
  const report = new Promise((resolve) => { reported = resolve; });
  const chromium = spawn('chromium', [
    ...'--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars'.split(' '),
    `--user-data-dir=${path.join(scratch, board)}`, `--window-size=${given.width},${height}`, '--virtual-time-budget=15000',
    `--screenshot=${file}`, `http://127.0.0.1:${server.address().port}/?${query}`,
  ], { stdio: 'ignore' });
  const ended = new Promise((resolve) => chromium.on('exit', resolve));
  const timer = setTimeout(() => chromium.kill(), 120_000);
  const late = ended.then(() => ({ panels: 0, empty: [], trouble: ['the page never reported'] }));
  const { panels: drawn, empty, trouble } = await Promise.race([report, late]);
  await ended;
  clearTimeout(timer);
  console.log(`${file}: ${drawn} panels`);
  empty.forEach((line) => console.log(`  no data  ${line}`));
  trouble.forEach((line) => console.log(`  TROUBLE  ${line}`));
  return trouble.length === 0;
}

let fine = true;
for (const board of boards) fine = (await picture(board)) && fine;
server.close();
rmSync(scratch, { recursive: true, force: true });
process.exit(fine ? 0 : 1);
