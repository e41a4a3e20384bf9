<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- How a job's use went (/page/series, GET /v1/jobs/ID/series): one strip a metric over the job's time, its text, and the points as a table.
	The document has all figures: only positions are computed here. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
	xmlns:f="https://reeve.example/format" exclude-result-prefixes="f">

<xsl:template name="timeline">
	<xsl:variable name="s" select="/page/series"/>
	<xsl:if test="$s/points/item">
		<h2>Use over time</h2>
		<xsl:call-template name="timeline-charts"><xsl:with-param name="s" select="$s"/></xsl:call-template>
		<p class="note">The points as <a href="/web/series/{$s/@job}.csv">CSV</a>, <a href="/web/series/{$s/@job}.json">JSON</a>.</p>
	</xsl:if>
	<xsl:if test="$s/@is_summed = 'false'"><p class="note">Use over time: the job's nodes measured at intervals that cannot be added up. Of one node:
		<xsl:for-each select="$s/nodes/item"><a href="/web/series/{$s/@job}?node={f:encode(@node)}"><xsl:value-of select="@node"/></a><xsl:text> </xsl:text></xsl:for-each></p></xsl:if>
</xsl:template>

<xsl:template name="timeline-charts">
	<xsl:param name="s"/>
	<p><xsl:value-of select="f:duration($s/@elapsed_s)"/> since the start at <xsl:value-of select="f:time($s/@started_ns)"/>,
		<xsl:value-of select="f:duration($s/@interval_s)"/> a point<xsl:if test="count($s/nodes/item) &gt; 1">, the sum of <xsl:value-of select="count($s/nodes/item)"/> nodes</xsl:if>.<xsl:if
		test="$s/@suspended_s &gt; 0"> Suspended for <xsl:value-of select="f:duration($s/@suspended_s)"/>.</xsl:if></p>
	<xsl:call-template name="timeline-key"><xsl:with-param name="s" select="$s"/></xsl:call-template>
	<xsl:for-each select="$s/metrics/item"><xsl:call-template name="strip"><xsl:with-param name="s" select="$s"/></xsl:call-template></xsl:for-each>
	<details>
		<summary>The <xsl:value-of select="count($s/points/item)"/> points as a table</summary>
		<xsl:call-template name="timeline-table"><xsl:with-param name="s" select="$s"/></xsl:call-template>
	</details>
</xsl:template>

<!-- What the charts of this job have beside use. -->
<xsl:template name="timeline-key">
	<xsl:param name="s"/>
	<ul class="legend">
		<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="use" width="10" height="10"/></svg>used</li>
		<xsl:if test="$s/metrics/item/@requested"><li><svg viewBox="0 0 10 10" aria-hidden="true"><line class="request" x1="0" x2="10" y1="5" y2="5"/></svg>requested</li></xsl:if>
		<xsl:if test="$s/metrics/item/@refused"><li><svg viewBox="0 0 10 10" aria-hidden="true"><line class="refused" x1="0" x2="10" y1="5" y2="5"/></svg>tried and refused</li></xsl:if>
		<xsl:if test="$s/@suspended_s &gt; 0"><li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="pause" width="10" height="10"/></svg>suspended</li></xsl:if>
		<xsl:if test="$s/metrics/item[@measured_s &lt; $s/@elapsed_s]"><li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="missing framed" width="10" height="10"/></svg>not measured</li></xsl:if>
	</ul>
</xsl:template>

<!-- "cores", "gpus_busy": a number; all others are bytes, in the units of the request. Of a metric. -->
<xsl:template name="amount">
	<xsl:param name="name"/>
	<xsl:param name="value"/>
	<xsl:choose>
		<xsl:when test="string($value) = ''">-</xsl:when>
		<xsl:when test="$name = 'cores' or $name = 'gpus_busy'"><xsl:value-of select="format-number($value, '0.##')"/></xsl:when>
		<xsl:otherwise><xsl:value-of select="f:bytes($value, @requested | /page/series/@like_bytes[not(current()/@requested)])"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<xsl:template name="metric-title">
	<xsl:choose>
		<xsl:when test="@name = 'cores'">Cores in use</xsl:when>
		<xsl:when test="@name = 'mem_bytes'">Memory (mem)</xsl:when>
		<xsl:when test="@name = 'vmem_bytes'">Address space (vmem)</xsl:when>
		<xsl:when test="@name = 'jobfs_bytes'">Disk (jobfs)</xsl:when>
		<xsl:when test="@name = 'gpus_busy'">GPUs busy</xsl:when>
		<xsl:when test="@name = 'gpu_mem_bytes'">GPU memory</xsl:when>
	</xsl:choose>
</xsl:template>

<xsl:template name="metric-sentence">
	<xsl:choose>
		<xsl:when test="@most">at most <xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="@most"/></xsl:call-template>,
			<xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="@mean"/></xsl:call-template> on average<xsl:choose>
			<xsl:when test="@requested">, <xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="@requested"/></xsl:call-template> requested (dashed line)</xsl:when>
			<xsl:otherwise>; none requested</xsl:otherwise></xsl:choose><xsl:if test="@refused">, <xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="@refused"/></xsl:call-template> tried and refused (dotted line)</xsl:if>.</xsl:when>
		<xsl:otherwise>not measured.</xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- Seconds between two ticks: at most four fit into the time of a job. -->
<xsl:template name="tick-step">
	<xsl:param name="elapsed_s"/>
	<xsl:choose>
		<xsl:when test="$elapsed_s &lt;= 4">1</xsl:when><xsl:when test="$elapsed_s &lt;= 20">5</xsl:when><xsl:when test="$elapsed_s &lt;= 60">15</xsl:when>
		<xsl:when test="$elapsed_s &lt;= 240">60</xsl:when><xsl:when test="$elapsed_s &lt;= 600">150</xsl:when><xsl:when test="$elapsed_s &lt;= 1200">300</xsl:when>
		<xsl:when test="$elapsed_s &lt;= 3600">900</xsl:when><xsl:when test="$elapsed_s &lt;= 7200">1800</xsl:when><xsl:when test="$elapsed_s &lt;= 14400">3600</xsl:when>
		<xsl:when test="$elapsed_s &lt;= 28800">7200</xsl:when><xsl:when test="$elapsed_s &lt;= 86400">21600</xsl:when><xsl:when test="$elapsed_s &lt;= 172800">43200</xsl:when>
		<xsl:when test="$elapsed_s &lt;= 345600">86400</xsl:when><xsl:when test="$elapsed_s &lt;= 691200">172800</xsl:when><xsl:when test="$elapsed_s &lt;= 2419200">604800</xsl:when>
		<xsl:otherwise><xsl:value-of select="86400 * ceiling($elapsed_s div 345600)"/></xsl:otherwise>
	</xsl:choose>
</xsl:template>

<!-- Lines in a strip, or their times below it: places are parts of the whole, so that texts are not stretched. -->
<xsl:template name="ticks">
	<xsl:param name="elapsed_s"/>
	<xsl:param name="step"/>
	<xsl:param name="as"/>
	<xsl:param name="at_s" select="0"/>
	<xsl:variable name="x" select="format-number(100 * $at_s div $elapsed_s, '0.##')"/>
	<xsl:choose>
		<xsl:when test="$as = 'times'"><text y="1em" x="{$x}%"><xsl:attribute name="class"><xsl:choose>
			<xsl:when test="$at_s = 0">first</xsl:when><xsl:when test="$x &gt; 90">last</xsl:when><xsl:otherwise>mid</xsl:otherwise>
			</xsl:choose><xsl:if test="$at_s div $step mod 2 = 1"> odd</xsl:if></xsl:attribute><xsl:value-of select="f:duration($at_s)"/></text></xsl:when>
		<xsl:when test="$at_s &gt; 0"><line class="tick" x1="{$x}%" x2="{$x}%" y1="0" y2="100%"/></xsl:when>
	</xsl:choose>
	<xsl:if test="$at_s + $step &lt;= $elapsed_s"><xsl:call-template name="ticks">
		<xsl:with-param name="elapsed_s" select="$elapsed_s"/><xsl:with-param name="step" select="$step"/>
		<xsl:with-param name="as" select="$as"/><xsl:with-param name="at_s" select="$at_s + $step"/>
	</xsl:call-template></xsl:if>
</xsl:template>

<!-- Of a metric. Above 0 and below the top there is some room, so that a line at the top is seen whole. -->
<xsl:template name="strip">
	<xsl:param name="s"/>
	<xsl:variable name="full"><xsl:choose><xsl:when test="@full &gt; 0"><xsl:value-of select="@full"/></xsl:when><xsl:otherwise>1</xsl:otherwise></xsl:choose></xsl:variable>
	<xsl:variable name="step"><xsl:call-template name="tick-step"><xsl:with-param name="elapsed_s" select="$s/@elapsed_s"/></xsl:call-template></xsl:variable>
	<figure class="strip">
		<figcaption><strong><xsl:call-template name="metric-title"/></strong>: <xsl:call-template name="metric-sentence"/></figcaption>
		<div class="plot" aria-hidden="true">
			<p class="scale"><span><xsl:call-template name="amount"><xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="$full"/></xsl:call-template></span><span>0</span></p>
			<svg class="field" focusable="false">
				<rect class="ground" width="100%" height="100%"/>
				<svg viewBox="0 -8 {format-number($s/@elapsed_s div $s/@interval_s, '0.###')} 108" preserveAspectRatio="none" width="100%" height="100%">
					<xsl:call-template name="strip-points"><xsl:with-param name="s" select="$s"/><xsl:with-param name="full" select="$full"/></xsl:call-template>
				</svg>
				<xsl:call-template name="ticks"><xsl:with-param name="elapsed_s" select="$s/@elapsed_s"/><xsl:with-param name="step" select="$step"/><xsl:with-param name="as">lines</xsl:with-param></xsl:call-template>
			</svg>
			<svg class="times" focusable="false"><xsl:call-template name="ticks"><xsl:with-param name="elapsed_s" select="$s/@elapsed_s"/><xsl:with-param name="step" select="$step"/><xsl:with-param name="as">times</xsl:with-param></xsl:call-template></svg>
		</div>
	</figure>
</xsl:template>

<!-- One unit of width an interval, 100 of height. Each point that was measured is a closed box of one path: left, top, to the right, down; where
	none was measured the ground is blank. -->
<xsl:template name="strip-points">
	<xsl:param name="s"/>
	<xsl:param name="full"/>
	<xsl:variable name="name" select="@name"/>
	<path class="use"><xsl:attribute name="d"><xsl:for-each select="$s/points/item">
		<xsl:variable name="v" select="@*[name() = $name]"/>
		<xsl:if test="$v &gt; 0"><xsl:value-of select="concat('M', position() - 1, ' 100V', format-number(100 - 100 * $v div $full, '0.#'), 'h', format-number((@to_s - @from_s) div $s/@interval_s, '0.###'), 'V100z')"/></xsl:if>
	</xsl:for-each></xsl:attribute></path>
	<xsl:if test="@measured_s &lt; $s/@elapsed_s"><path class="missing"><xsl:attribute name="d"><xsl:for-each select="$s/points/item">
		<xsl:if test="not(@*[name() = $name] &gt;= 0)"><xsl:variable name="w" select="format-number((@to_s - @from_s) div $s/@interval_s, '0.###')"/>
			<xsl:value-of select="concat('M', position() - 1, ' -8h', $w, 'V100h-', $w, 'z')"/></xsl:if>
	</xsl:for-each></xsl:attribute></path></xsl:if>
	<xsl:for-each select="$s/points/item[@suspended_s &gt; 0]">
		<rect class="pause" x="{count(preceding-sibling::item)}" y="-8" height="108" width="{format-number(@suspended_s div $s/@interval_s, '0.###')}"/>
	</xsl:for-each>
	<xsl:if test="@requested"><xsl:variable name="y" select="format-number(100 - 100 * @requested div $full, '0.#')"/>
		<line class="request" x1="0" x2="{format-number($s/@elapsed_s div $s/@interval_s, '0.###')}" y1="{$y}" y2="{$y}"/></xsl:if>
	<xsl:if test="@refused"><xsl:variable name="y" select="format-number(100 - 100 * @refused div $full, '0.#')"/>
		<line class="refused" x1="0" x2="{format-number($s/@elapsed_s div $s/@interval_s, '0.###')}" y1="{$y}" y2="{$y}"/></xsl:if>
</xsl:template>

<xsl:template name="timeline-table">
	<xsl:param name="s"/>
	<div class="scroll" tabindex="0" role="region" aria-label="Points"><table>
		<thead><tr><th scope="col" class="figure">From</th><th scope="col" class="figure">To</th>
			<xsl:for-each select="$s/metrics/item"><th scope="col" class="figure"><xsl:call-template name="metric-title"/></th></xsl:for-each>
			<xsl:if test="$s/@suspended_s &gt; 0"><th scope="col" class="figure">Suspended</th></xsl:if></tr></thead>
		<tbody><xsl:for-each select="$s/points/item">
			<xsl:variable name="point" select="."/>
			<tr><td class="figure"><xsl:value-of select="f:duration(@from_s)"/></td><td class="figure"><xsl:value-of select="f:duration(@to_s)"/></td>
			<xsl:for-each select="$s/metrics/item"><td class="figure"><xsl:call-template name="amount">
				<xsl:with-param name="name" select="@name"/><xsl:with-param name="value" select="$point/@*[name() = current()/@name]"/>
			</xsl:call-template></td></xsl:for-each>
			<xsl:if test="$s/@suspended_s &gt; 0"><td class="figure"><xsl:value-of select="f:duration(@suspended_s)"/></td></xsl:if></tr>
		</xsl:for-each></tbody>
	</table></div>
</xsl:template>
</xsl:stylesheet>
