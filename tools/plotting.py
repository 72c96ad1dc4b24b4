# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Plots of lines as SVG images, for the tools that draw what was measured."""

from xml.sax.saxutils import escape

# A reader's choice of light or dark. The image has a background of its own, for
# it cannot know what it stands on.
LIGHT = {'page': '#ffffff', 'ink': '#1f2328', 'quiet': '#59636e',
         'grid': '#d8dee4', 'blue': '#0969da', 'orange': '#bc4c00',
         'green': '#1a7f37', 'purple': '#8250df', 'red': '#cf222e',
         'gray': '#6e7781'}
DARK = {'page': '#0d1117', 'ink': '#e6edf3', 'quiet': '#9198a1',
        'grid': '#30363d', 'blue': '#58a6ff', 'orange': '#f0883e',
        'green': '#3fb950', 'purple': '#bc8cff', 'red': '#ff7b72',
        'gray': '#8b949e'}
FONT = '''
    text { font: 13px system-ui, sans-serif; }
    .title { font-size: 16px; font-weight: 600; }
    .quiet { font-size: 11px; }
    .line { fill: none; stroke-width: 2; stroke-linejoin: round; }'''


class Plot:
  """The SVG, element by element. `styles` are those of the lines, by class:
  the name of a color, and whether the line is dashed."""

  width, height = 760, 490
  left, right, top, bottom = 64, 736, 96, 366  # of the plot's area

  def __init__(self, styles):
    self.styles = styles
    self.elements = []

  def add(self, element):
    self.elements.append('  ' + element)

  def text(self, x, y, text, attributes=''):
    self.add(f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>'
             f'{escape(text)}</text>')

  def title(self, text):
    self.text(self.left, 34, text, ' class="title" id="title"')

  def caption(self, lines):
    for index, text in enumerate(lines):
      self.text(self.left, self.bottom + 74 + 17 * index, text,
                ' class="quiet"')

  def x_tick(self, x, label):
    self.text(x, self.bottom + 20, label, ' text-anchor="middle"')

  def y_tick(self, y, label):
    self.add(f'<line class="grid" x1="{self.left}" x2="{self.right}" '
             f'y1="{y:.1f}" y2="{y:.1f}"/>')
    self.text(self.left - 8, y + 4, label, ' text-anchor="end"')

  def axis_titles(self, x_title, y_title):
    self.text((self.left + self.right) / 2, self.bottom + 42, x_title,
              ' text-anchor="middle"')
    middle = (self.top + self.bottom) / 2
    self.text(18, middle, y_title, ' text-anchor="middle" '
              f'transform="rotate(-90 18 {middle:.1f})"')

  def line(self, css_class, points, radius=4):
    """Points are positions, and what is shown when they are pointed at."""
    path = ' '.join(f'{x:.1f},{y:.1f}' for x, y, _ in points)
    self.add(f'<g class="{css_class}">')
    self.add(f'<polyline class="line" points="{path}"/>')
    for x, y, hint in points:
      self.add(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" '
               f'r="{radius}"><title>{escape(hint)}</title></circle>')
    self.add('</g>')

  def legend(self, lines):
    """Labels and classes, in as many rows as it takes, upwards."""
    rows = [[]]
    x = self.left + 16
    for label, css_class in lines:
      width = 60 + 7 * len(label)
      if rows[-1] and x + width > self.right:
        rows.append([])
        x = self.left + 16
      rows[-1].append((x, label, css_class))
      x += width
    for index, row in enumerate(rows):
      y = self.top - 26 - 18 * (len(rows) - 1 - index)
      for x, label, css_class in row:
        self.add(f'<g class="{css_class}"><line class="line" x1="{x}" '
                 f'x2="{x + 28}" y1="{y}" y2="{y}"/></g>')
        self.text(x + 36, y + 4, label)

  def colors(self, palette, indent):
    """The rules of the style sheet that depend on it."""
    rules = ['.page {{ fill: {page}; }}', 'text {{ fill: {ink}; }}',
             'text.quiet {{ fill: {quiet}; }}',
             '.grid {{ stroke: {grid}; }}', '.dot {{ stroke: {page}; }}']
    for css_class, (color, _) in self.styles.items():
      rules.append(f'.{css_class} .line {{{{ stroke: {{{color}}}; }}}}')
      rules.append(f'.{css_class} .dot {{{{ fill: {{{color}}}; }}}}')
    return ''.join('\n' + ' ' * indent + rule.format(**palette)
                   for rule in rules)

  def svg(self):
    dashes = ''.join(
        f'\n    .{css_class} .line {{ stroke-dasharray: 6 4; }}'
        for css_class, (_, is_dashed) in self.styles.items() if is_dashed)
    return '\n'.join([
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
        f'height="{self.height}" aria-labelledby="title">',
        f'  <style>{FONT}{dashes}{self.colors(LIGHT, 4)}',
        '    @media (prefers-color-scheme: dark) {' +
        self.colors(DARK, 6), '    }\n  </style>',
        f'  <rect class="page" width="{self.width}" '
        f'height="{self.height}"/>',
        *self.elements, '</svg>', ''
    ])
