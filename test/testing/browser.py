# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Shows pages to tests, in Chromium."""

import base64
import contextlib
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request


KEYS = {'Tab': '\ue004', 'Enter': '\ue007', 'Escape': '\ue00c', 'Left': '\ue012',
        'Up': '\ue013', 'Right': '\ue014', 'Down': '\ue015', 'Shift': '\ue008'}


class Browser:
  """Chromium without a window, by the WebDriver protocol."""

  @staticmethod
  def is_installed():
    return shutil.which('chromedriver') is not None

  def __init__(self):
    self.driver = subprocess.Popen(['chromedriver', '--port=0'],
                                   stdout=subprocess.PIPE, text=True)
    port = None
    for line in self.driver.stdout:
      match = re.search(r'started successfully on port (\d+)', line)
      if match:
        port = match[1]
        break
    if not port:
      raise OSError('chromedriver does not start')
    self.url = 'http://127.0.0.1:%s/session' % port
    arguments = ['--headless=new', '--no-sandbox', '--disable-gpu',
                 '--disable-dev-shm-usage', '--hide-scrollbars',
                 # A fetch from elsewhere is an error.
                 '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1']
    self.url += '/' + self.call('', capabilities={'alwaysMatch': {
        'goog:loggingPrefs': {'browser': 'ALL'},
        'goog:chromeOptions': {'args': arguments}}})['sessionId']

  def call(self, path, method='POST', **arguments):
    data = json.dumps(arguments).encode() if method == 'POST' else None
    request = urllib.request.Request(
        self.url + path, data, {'Content-Type': 'application/json'},
        method=method)
    try:
      with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)['value']
    except urllib.error.HTTPError as error:
      raise OSError(error.read().decode(errors='replace')[:500]) from error

  def devtools(self, command, **parameters):
    return self.call('/goog/cdp/execute', cmd=command, params=parameters)

  def script(self, code, *arguments):
    return self.call('/execute/sync', script=code, args=arguments)

  def open(self, url):
    self.call('/url', url=url)

  def set_screen(self, width, height, is_phone, scheme):
    """For the pages that are opened next. `scheme` is 'light' or 'dark'."""
    self.devtools('Emulation.setDeviceMetricsOverride', width=width,
                  height=height, deviceScaleFactor=1, mobile=is_phone)
    self.devtools('Emulation.setTouchEmulationEnabled', enabled=is_phone)
    self.devtools('Emulation.setEmulatedMedia', features=[
        {'name': 'prefers-color-scheme', 'value': scheme}])

  def errors(self):
    return [entry['message'] for entry in self.call('/se/log', type='browser')
            if entry['level'] == 'SEVERE']

  def picture(self, path):
    path.write_bytes(base64.b64decode(self.call('/screenshot', 'GET')))

  # Input from a user. Pointer steps are of the WebDriver protocol; places are in
  # pixels of the window.

  def act(self, *sources):
    self.call('/actions', actions=list(sources))

  def press(self, keys):
    """Presses the keys one after the other; KEYS has those that are no letters."""
    steps = [{'type': kind, 'value': key} for key in keys
             for kind in ('keyDown', 'keyUp')]
    self.act({'type': 'key', 'id': 'keyboard', 'actions': steps})

  @contextlib.contextmanager
  def holding(self, key):
    """Holds a key down."""
    for kind in 'keyDown', 'keyUp':
      self.act({'type': 'key', 'id': 'keyboard', 'actions': [{'type': kind, 'value': key}]})
      if kind == 'keyDown':
        yield

  def point(self, *steps, kind='mouse'):
    """`steps` are places to move to, 'down' and 'up'."""
    self.act(self.pointer(kind, kind, steps))

  def pinch(self, *fingers):
    """`fingers` are lists of steps, as point() takes them, made at the same time."""
    self.act(*(self.pointer('finger %d' % i, 'touch', steps)
               for i, steps in enumerate(fingers)))

  def wheel(self, place, down):
    self.act({'type': 'wheel', 'id': 'wheel', 'actions': [
        {'type': 'scroll', 'x': round(place[0]), 'y': round(place[1]), 'deltaX': 0,
         'deltaY': down, 'duration': 0}]})

  @staticmethod
  def pointer(name, kind, steps):
    actions = [{'type': 'pointer' + step.capitalize(), 'button': 0}
               if isinstance(step, str) else
               {'type': 'pointerMove', 'x': round(step[0]), 'y': round(step[1]),
                'duration': 0} for step in steps]
    return {'type': 'pointer', 'id': name, 'parameters': {'pointerType': kind},
            'actions': actions}

  def close(self):
    try:
      self.call('', 'DELETE')
    finally:
      self.driver.terminate()
      self.driver.wait()
