// Draws one dashboard from a live Prometheus with Grafana's component library. What lives in Grafana itself is redone here
// as far as our dashboards use it: the grid, the questions, variables, and which component a panel type is.
import React from 'react';
import { createRoot } from 'react-dom/client';
import { lastValueFrom } from 'rxjs';
import {
  applyFieldOverrides, createTheme, dateTime, FieldConfigOptionsRegistry, FieldType, getFieldDisplayValues,
  renderTextPanelMarkdown, standardTransformers, standardTransformersRegistry, transformDataFrame,
} from '@grafana/data';
import { BarGauge, BigValue, GlobalStyles, PanelChrome, Table, ThemeContext, TimeSeries, VizRepeater } from '@grafana/ui';

const asked = new URLSearchParams(location.search);
const theme = createTheme({ colors: { mode: 'dark' } });
const prometheus = asked.get('prometheus');
const now = Math.floor(Date.now() / 1000);
const step = Math.max(1, Math.round(Number(asked.get('seconds')) / 400));
const span = Math.round(Number(asked.get('seconds')) / step) * step;
const chosen = Object.fromEntries(['cluster', 'instance', 'netdev', 'priority'].map((name) => [name, asked.get(name) ?? '.*']));
const range = { from: dateTime((now - span) * 1000), to: dateTime(now * 1000), raw: { from: `now-${span}s`, to: 'now' } };
const width = Number(asked.get('width'));
const unit = 38;

const transformers = ['mergeTransformer', 'organizeFieldsTransformer', 'filterFieldsByNameTransformer', 'orderFieldsTransformer', 'renameFieldsTransformer'];
standardTransformersRegistry.setInit(() => transformers.map((name) => {
  const transformation = standardTransformers[name];
  return { id: transformation.id, name: transformation.name, transformation: async () => transformation, editor: () => null };
}));
const property = (id, path = id, isCustom = false) => ({
  id, path, isCustom, name: id, editor: () => null, override: () => null, process: (value) => value, shouldApply: () => true,
});
const properties = new FieldConfigOptionsRegistry(() => [
  ...['unit', 'decimals', 'min', 'max', 'color', 'thresholds', 'mappings', 'noValue', 'displayName'].map((id) => property(id)),
  ...['align', 'cellOptions', 'inspect', 'minWidth', 'width', 'drawStyle', 'lineInterpolation', 'lineWidth', 'fillOpacity', 'showPoints', 'pointSize',
    'spanNulls', 'insertNulls', 'stacking', 'axisPlacement', 'axisLabel', 'scaleDistribution', 'thresholdsStyle', 'axisSoftMax',
  ].map((id) => property(`custom.${id}`, id, true)),
]);

function interpolate(expression) {
  const built = { __rate_interval: `${Math.max(4, step + 1)}s`, __interval: `${step}s`, __range: `${span}s` };
  return expression.replace(/\$\{?(\w+)\}?/g, (whole, name) => built[name] ?? chosen[name] ?? whole);
}

async function ask(target) {
  const query = encodeURIComponent(interpolate(target.expr));
  const path = target.instant ? `query?time=${now}` : `query_range?start=${now - span}&end=${now}&step=${step}`;
  const answer = await (await fetch(`${prometheus}/api/v1/${path}&query=${query}`)).json();
  if (answer.status !== 'success') throw new Error(`${answer.error}: ${target.expr}`);
  return answer.data.result;
}

const named = (target, labels) => target.legendFormat
  ? target.legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? '')
  : Object.entries(labels).map(([label, value]) => `${label}="${value}"`).join(', ');

// A step without a point is a gap, also where another series has one.
function onGrid(points) {
  const known = new Map(points);
  return Array.from({ length: span / step + 1 }, (_, index) => now - span + index * step).map((time) => [time, known.get(time) ?? null]);
}

function frames(target, series) {
  if (target.format === 'table') {
    const labels = [...new Set(series.flatMap((one) => Object.keys(one.metric)))].filter((label) => label !== '__name__');
    return [{
      refId: target.refId, length: series.length,
      fields: [
        { name: 'Time', type: FieldType.time, config: {}, values: series.map((one) => one.value[0] * 1000) },
        ...labels.map((label) => ({ name: label, type: FieldType.string, config: {}, values: series.map((one) => one.metric[label] ?? '') })),
        { name: `Value #${target.refId}`, type: FieldType.number, config: {}, values: series.map((one) => Number(one.value[1])) },
      ],
    }].filter((frame) => frame.length > 0);
  }
  return series.map((one) => {
    const points = one.values ? onGrid(one.values) : [one.value];
    return {
      refId: target.refId, length: points.length,
      fields: [
        { name: 'Time', type: FieldType.time, config: { interval: step * 1000 }, values: points.map((point) => point[0] * 1000) },
        { name: 'Value', type: FieldType.number, labels: one.metric, config: { displayNameFromDS: named(target, one.metric) },
          values: points.map((point) => (point[1] === null ? null : Number(point[1]))) },
      ],
    };
  });
}

async function load(panel) {
  const asked = panel.targets ?? [];
  const answers = await Promise.all(asked.map(ask));
  let data = answers.flatMap((series, index) => frames(asked[index], series));
  const empty = asked.filter((_, index) => answers[index].length === 0).map((target) => target.legendFormat || target.refId);
  if (panel.transformations && data.length > 0) data = await lastValueFrom(transformDataFrame(panel.transformations, data));
  let series = 0;
  data = data.map((frame) => ({
    ...frame, fields: frame.fields.map((field) => (field.type === FieldType.number ? { ...field, state: { seriesIndex: series++ } } : field)),
  }));
  data = applyFieldOverrides({
    data, fieldConfig: panel.fieldConfig ?? { defaults: {}, overrides: [] }, replaceVariables: (text) => text, theme,
    timeZone: 'utc', fieldConfigRegistry: properties,
  });
  return { data, empty, all: asked.length };
}

function Drawn({ panel, data, width, height }) {
  const { options, type, fieldConfig } = panel;
  if (type === 'text') return <div className="words" dangerouslySetInnerHTML={{ __html: renderTextPanelMarkdown(options.content) }} />;
  if (data.length === 0) {
    const words = type === 'stat' || type === 'bargauge' ? fieldConfig.defaults.noValue : 'No data';
    return <div className="nothing" style={{ height }}>{words}</div>;
  }
  if (type === 'timeseries') {
    return <TimeSeries frames={data} width={width} height={height} timeRange={range} timeZone="utc" legend={options.legend} options={options} />;
  }
  if (type === 'table') return <Table data={data[0]} width={width} height={height} initialSortBy={options.sortBy} cellHeight="sm" />;
  const values = getFieldDisplayValues({ fieldConfig, reduceOptions: options.reduceOptions, data, replaceVariables: (text) => text, theme, timeZone: 'utc' });
  const repeat = (orientation, renderValue, more) => (
    <VizRepeater width={width} height={height} orientation={orientation} source={data} getValues={() => values} renderCounter={0} renderValue={renderValue} {...more} />
  );
  if (type === 'stat') {
    return repeat('auto', ({ value, width, height }) => (
      <BigValue value={value.display} width={width} height={height} colorMode={options.colorMode} graphMode={options.graphMode}
        justifyMode={options.justifyMode} textMode={values.length > 1 || options.textMode === 'name' ? options.textMode : 'value'} theme={theme} />
    ));
  }
  return repeat(options.orientation, ({ value, width, height, alignmentFactors }) => (
    <BarGauge value={value.display} field={value.field} display={value.view?.getFieldDisplayProcessor(value.colIndex)} width={width} height={height}
      orientation={options.orientation} displayMode={options.displayMode} valueDisplayMode={options.valueMode} namePlacement={options.namePlacement}
      showUnfilled={options.showUnfilled} alignmentFactors={alignmentFactors} theme={theme} />
  ), {
    minVizHeight: options.minVizHeight, maxVizHeight: options.maxVizHeight, itemSpacing: 8,
    getAlignmentFactors: (values) => values.reduce((longest, { display }) => ({
      title: (display.title ?? '').length > longest.title.length ? display.title : longest.title,
      text: display.text.length > longest.text.length ? display.text : longest.text, suffix: display.suffix ?? longest.suffix, prefix: longest.prefix,
    }), { title: '', text: '' }),
  });
}

class Guard extends React.Component {
  state = {};
  static getDerivedStateFromError(error) { return { error }; }
  render() {
    if (!this.state.error) return this.props.children;
    trouble.push(`${this.props.title}: ${this.state.error}`);
    return <pre>{String(this.state.error)}</pre>;
  }
}

const trouble = [];
window.addEventListener('error', (event) => trouble.push(event.message));

async function draw() {
  const board = await (await fetch(`/board/${asked.get('board')}`)).json();
  const report = { board: board.uid, panels: 0, empty: [], trouble };
  const drawn = await Promise.all(board.panels.filter((panel) => panel.type !== 'row').map(async (panel) => {
    report.panels += 1;
    try {
      const { data, empty, all } = await load(panel);
      if (all > 0 && empty.length > 0) report.empty.push(`${panel.title}: ${empty.length === all ? 'all' : empty.join('; ')}`);
      return [panel, data];
    } catch (error) {
      trouble.push(`${panel.title}: ${error.message}`);
      return [panel, []];
    }
  }));
  const at = ({ x, y }) => ({ position: 'absolute', left: x * width / 24 + 4, top: y * unit + 4 + 44 });
  const size = ({ w, h }) => ({ width: w * width / 24 - 8, height: h * unit - 8 });
  createRoot(document.getElementById('root')).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <h1>{board.title}</h1>
      {board.panels.filter((panel) => panel.type === 'row').map((row) => <h2 key={row.id} style={at(row.gridPos)}>{row.title}</h2>)}
      {drawn.map(([panel, data]) => (
        <div key={panel.id} style={at(panel.gridPos)}>
          <PanelChrome title={panel.title} {...size(panel.gridPos)}>
            {(width, height) => <Guard title={panel.title}><Drawn panel={panel} data={data} width={width} height={height} /></Guard>}
          </PanelChrome>
        </div>
      ))}
    </ThemeContext.Provider>,
  );
  setTimeout(() => fetch('/report', { method: 'POST', body: JSON.stringify(report) }), 1500);
}

draw().catch((error) => fetch('/report', { method: 'POST', body: JSON.stringify({ trouble: [String(error)], empty: [], panels: 0 }) }));
