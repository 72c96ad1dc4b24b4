# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Plots of lines as SVG images, for the tools that draw measurements.

Each image has a text file of its figures beside it. The image is drawn from
that file alone, by Debian's matplotlib, and the same file makes the same bytes.
"""

import contextlib
import io
import re

from measuring import Error, write_text

# A reader's choice of light or dark. The image has a background of its own, for
# it cannot know what it stands on.
LIGHT = {'page': '#ffffff', 'ink': '#1f2328', 'quiet': '#59636e',
         'grid': '#d8dee4', 'blue': '#0969da', 'orange': '#bc4c00',
         'green': '#1a7f37', 'purple': '#8250df', 'gray': '#6e7781'}
DARK = {'page': '#0d1117', 'ink': '#e6edf3', 'quiet': '#9198a1',
        'grid': '#30363d', 'blue': '#58a6ff', 'orange': '#f0883e',
        'green': '#3fb950', 'purple': '#bc8cff', 'gray': '#8b949e'}

FONT = 'system-ui, sans-serif'
SETTINGS = {
    'svg.fonttype': 'none',  # Letters stay letters.
    'svg.hashsalt': 'protozero',  # Ids are the same in each run.
    'font.family': 'DejaVu Sans', 'font.size': 9.5, 'axes.titlesize': 12,
    'axes.titleweight': 'semibold', 'axes.titlelocation': 'left',
    'axes.edgecolor': LIGHT['grid'], 'axes.labelcolor': LIGHT['ink'],
    'axes.spines.top': False, 'axes.spines.right': False,
    'axes.spines.left': False, 'axes.grid': True, 'axes.grid.axis': 'y',
    'axes.axisbelow': True, 'grid.color': LIGHT['grid'],
    'figure.facecolor': LIGHT['page'], 'axes.facecolor': LIGHT['page'],
    'figure.figsize': (7.9, 5.1), 'text.color': LIGHT['ink'],
    'xtick.color': LIGHT['ink'], 'ytick.color': LIGHT['ink'],
    'xtick.bottom': False, 'ytick.left': False,
    'lines.linewidth': 1.6, 'lines.markersize': 4, 'legend.frameon': False,
}


class Data:
  """The figures of a plot: for each line, by its name, the pairs of x and y. And
  notes that say where they come from."""

  def __init__(self, lines, notes):
    self.lines = lines
    self.notes = notes

  def xs(self):
    return sorted({x for line in self.lines.values() for x, _ in line})

  def write(self, path, heading, precision):
    """`heading` is that of x; `precision` that of y, as digits."""
    rows = ['# ' + note for note in self.notes]
    rows.append('\t'.join([heading, *self.lines]))
    for x in self.xs():
      cells = [dict(line).get(x) for line in self.lines.values()]
      rows.append('\t'.join([f'{x:.10g}'] + [
          '-' if cell is None else f'{cell:.{precision}f}' for cell in cells]))
    write_text(path, '\n'.join(rows) + '\n')


def read(path):
  """Reads the output of Data.write()."""
  try:
    text = path.read_text()
  except OSError as error:
    raise Error(f'{path}: {error.strerror}') from error
  notes = [line[2:] for line in text.splitlines() if line.startswith('# ')]
  rows = [line.split('\t') for line in text.splitlines()
          if line and not line.startswith('#')]
  try:
    names = rows[0][1:]
    lines = {name: [(float(row[0]), float(row[index]))
                    for row in rows[1:] if row[index] != '-']
             for index, name in enumerate(names, 1)}
  except (IndexError, ValueError) as error:
    raise Error(f'{path} has no figures: {error}') from error
  return Data(lines, notes)


def figures_of(image):
  """The file with the figures of an image."""
  return image.with_suffix('.txt')


@contextlib.contextmanager
def drawing(path, title, notes, size=SETTINGS['figure.figsize']):
  """Yields matplotlib's axes, and writes the drawing. `size` is in inches."""
  try:
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use('svg')
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise Error('matplotlib is missing: tools/install-build-deps --plots '
                f'({error})') from error
  with pyplot.rc_context(SETTINGS):
    figure, axes = pyplot.subplots(figsize=size)
    yield axes
    # Titles go above the legend, which takes as much room as it needs.
    legend = axes.legend(loc='lower left', bbox_to_anchor=(0, 1), ncol=3,
                         borderaxespad=0.2)
    axes.set_title(title, pad=8 + 15 * -(-len(legend.texts) // 3))
    figure.text(0.02, 0.02, '\n'.join(notes), fontsize=7.5,
                color=LIGHT['quiet'], va='bottom')
    figure.tight_layout(rect=(0, 0.02 + 0.027 * len(notes), 1, 1))
    image = io.StringIO()
    figure.savefig(image, format='svg', metadata={
        'Date': None, 'Creator': None, 'Format': None, 'Type': None})
    pyplot.close(figure)
  write_text(path, themed(image.getvalue()))


def themed(svg):
  """Has the colors of an image follow the reader's choice, and leaves out what
  viewers do not need."""
  for name, color in LIGHT.items():
    svg = svg.replace(color, f'var(--{name})')
  for pattern, replacement in (
      (r'<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->', ''),
      (r' id="(?:axes|figure|legend|line2d|matplotlib\.axis|patch|text|[xy]tick)'
       r'_\d+"| transform="rotate\(-0 [^"]*"', ''),
      # These are in the style sheet.
      (r"(<text style=\")fill: var\(--ink\); (?:font: 9.5px 'DejaVu Sans'; )?",
       r'\1'),
      (r"'DejaVu Sans'", FONT),
      (r' *\n\s*', '\n')):
    svg = re.sub(pattern, replacement, svg, flags=re.S)
  # A tenth of a point is enough.
  svg = re.sub(r'\d+\.\d{3,}', lambda number: f'{float(number[0]):.1f}', svg)

  lines, named = [], []
  for line in svg.splitlines():
    if line.startswith('<g') and line != '<g/>':
      named.append(line != '<g>')
    # Groups without a name group nothing.
    if line not in ('<g>', '<g/>') and (line != '</g>' or named.pop()):
      lines.append(line)

  palettes = [' '.join(f'--{name}: {color};' for name, color in palette.items())
              for palette in (LIGHT, DARK)]
  style = ['<style>', ':root { %s }' % palettes[0],
           '@media (prefers-color-scheme: dark) { :root { %s } }' % palettes[1],
           'text { fill: var(--ink); font: 9.5px %s; }' % FONT, '</style>']
  at = lines.index('<defs>')
  return '\n'.join(lines[:at] + style + lines[at:]) + '\n'
