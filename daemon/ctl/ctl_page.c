/* SPDX-License-Identifier: Apache-2.0 */
/* ctl/ctl_page.c - the page at "/": one file, nothing fetched from elsewhere.
 *
 * It reads the JSON pages beside it every two seconds.  Names come from clients,
 * so text is set as text, never as markup. */
#include "ctl_http.h"

static const char page[] =
	"<!doctype html><html lang=en><meta charset=utf-8><title>braze</title>\n"
	"<style>body{font:14px system-ui,sans-serif;margin:2em;max-width:75em}"
	"table{border-collapse:collapse;margin:.5em 0 2em}"
	"th,td{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left;"
	"font-variant-numeric:tabular-nums}pre{white-space:pre-wrap}</style>\n"
	"<h1>braze</h1><p id=state>reading...</p>\n"
	"<h2>Clients</h2><table id=clients></table>\n"
	"<h2>Kernels</h2><table id=kernels></table>\n"
	"<h2>Events</h2><table id=events></table>\n"
	"<h2>Status</h2><pre id=status></pre>\n"
	"<p><a href=/status>/status</a> <a href=/clients>/clients</a> "
	"<a href=/kernels>/kernels</a> <a href=/metrics>/metrics</a> "
	"<a href=/events>/events</a></p>\n"
	"<script>\n"
	"const $=id=>document.getElementById(id);\n"
	"const get=async u=>(await fetch(u)).json();\n"
	"function table(t,rows){t.replaceChildren();if(!rows.length){t.textContent='none';return}\n"
	" const keys=Object.keys(rows[0]);const add=(row,tag,texts)=>{for(const x of texts){"
	"const c=document.createElement(tag);c.textContent=String(x).slice(0,160);"
	"row.append(c)}};\n"
	" add(t.insertRow(),'th',keys);for(const r of rows)add(t.insertRow(),'td',"
	"keys.map(k=>r[k]))}\n"
	"async function turn(){try{const s=await get('/status');"
	"$('state').textContent='version '+s.version+', up '+Math.round(s.uptime_seconds)+' s';"
	"$('status').textContent=JSON.stringify(s,null,1);\n"
	" table($('clients'),(await get('/clients')).clients);"
	"table($('kernels'),(await get('/kernels')).kernels.slice(0,100));"
	"table($('events'),(await get('/events')).events.slice(-20))\n"
	"}catch(e){$('state').textContent='no answer: '+e}setTimeout(turn,2000)}\n"
	"turn()\n"
	"</script></html>\n";

const char *ctl_page_html(void)
{
	return page;
}
